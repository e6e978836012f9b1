"""The tables that the questions of `questions/tables.jsonl` are about: small, and awkward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TABLES", "frame"]

_SHOP = """
1001 2024-03-04 north 3 45.0
1002 2024-03-09 south 1 120.0
1003 2024-03-21 west 7 70.0
1004 2024-04-02 north 2 30.5
1005 2024-04-03 south 9 180.0
1006 2024-04-15 east 4 88.0
1007 2024-04-22 east 1 20.0
1008 2024-04-30 north 5 75.0
1009 2024-05-06 west 6 96.0
1010 2024-05-17 south 8 210.0
1011 2024-05-20 south 2 40.0
1012 2024-05-28 north 3 90.0
"""
_WEATHER = """
2023-01-02 Oslo -6.2 0.0 4.1
2023-04-15 Oslo 8.1 3.5 6.0
2023-07-20 Oslo 20.1 1.5 3.3
2023-10-11 Oslo - 12.0 5.2
2023-01-02 Bergen 2.4 24.0 14.8
2023-04-15 Bergen 7.7 8.5 9.9
2023-07-20 Bergen 16.0 11.0 5.1
2023-10-11 Bergen 10.3 18.0 12.6
2023-01-02 Cadiz 12.9 5.0 7.0
2023-04-15 Cadiz 19.0 0.0 6.6
2023-07-20 Cadiz 31.4 0.0 4.2
2023-10-11 Cadiz - 0.0 5.8
"""
_STAFF = """
Ines Board 98 2009 -
Tomas Sales 55 2014 Ines
Petra Sales 52 2016 Tomas
Okan Sales 49 2019 Tomas
Lily Lab 71 2012 Ines
Jon Lab 58 2018 Lily
Mia Sales 61 2013 Tomas
Raj Sales 47 2021 Tomas
Uma Board 88 2010 Ines
"""
_ELEMENTS = """
Fe iron 1538.0
Au gold 1064.2
Hg mercury -38.8
Sn tin 231.9
Pb lead 327.5
Ag silver 961.8
"""

_LIBRARY = """
301 Abel crime 2023-09-01 2023-09-15 0.0
302 Bria poetry 2023-09-04 2023-10-09 2.5
303 Chen travel 2023-09-04 - -
304 Abel crime 2023-09-18 2023-09-29 0.0
305 Dario history 2023-10-02 2023-11-13 2.9
306 Dario crime 2023-10-05 2023-10-20 0.0
307 Elsa travel 2023-10-11 - -
308 Chen history 2023-10-16 2023-11-01 0.4
309 Abel poetry 2023-11-03 2023-11-24 0.8
310 Farid crime 2023-11-06 2023-11-17 0.0
311 Elsa travel 2023-11-20 2023-12-30 3.3
312 Bria crime 2023-12-01 - -
"""
_FLEET = """
KX-204 van 84200 2024-01-15 9.4 Moss
KX-219 van 121500 2023-08-02 10.1 Patel
LB-077 car 35600 2024-03-28 5.2 -
LB-081 car 98750 2023-11-20 6.0 Moss
MT-550 truck 210300 2023-06-09 27.5 Quirk
MT-562 truck 217900 - 25.9 Reyes
NV-310 car 12400 - - Sung
NV-318 van 66050 2024-02-11 8.8 -
PA-903 truck 154000 2023-12-05 26.4 Tran
PA-911 car 74800 2023-09-27 5.9 Patel
"""


def _rows(text: str) -> list[list[str | None]]:
    return [
        [None if cell == "-" else cell for cell in line.split()] for line in text.split("\n")[1:-1]
    ]


def _number(cell: str | None) -> float | None:
    return None if cell is None else float(cell)


def _shop() -> list[dict[str, Any]]:
    return [
        {
            "Order No.": int(str(number)),
            "ordered on": day,
            "Region": region,
            "QTY": int(str(quantity)),
            "net price (EUR)": _number(price),
        }
        for number, day, region, quantity, price in _rows(_SHOP)
    ]


def _weather() -> list[dict[str, Any]]:
    return [
        {
            "date": day,
            "city": city,
            "temp_c": _number(temperature),
            "rain_mm": _number(rain),
            "wind_ms": _number(wind),
        }
        for day, city, temperature, rain, wind in _rows(_WEATHER)
    ]


def _staff() -> list[dict[str, Any]]:
    return [
        {
            "who": name,
            "dept": department,
            "salary_kusd": int(str(salary)),
            "hired": int(str(year)),
            "manager": manager,
        }
        for name, department, salary, year, manager in _rows(_STAFF)
    ]


def _elements() -> list[dict[str, Any]]:
    return [
        {"sym": symbol, "element name": name, "melting point °C": _number(melts)}
        for symbol, name, melts in _rows(_ELEMENTS)
    ]


def _library() -> list[dict[str, Any]]:
    return [
        {
            "Loan#": int(str(number)),
            "Member": member,
            "genre of book": genre,
            "OUT": lent,
            "Back in": returned,
            "late fee [€]": _number(fee),
        }
        for number, member, genre, lent, returned, fee in _rows(_LIBRARY)
    ]


def _fleet() -> list[dict[str, Any]]:
    return [
        {
            "Plate": plate,
            "veh. type": kind,
            "km (total)": int(str(driven)),
            "last_svc": serviced,
            "fuel L/100km": _number(fuel),
            "Driver": driver,
        }
        for plate, kind, driven, serviced, fuel, driver in _rows(_FLEET)
    ]


TABLES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "shop": _shop,
    "weather": _weather,
    "staff": _staff,
    "elements": _elements,
    "library": _library,
    "fleet": _fleet,
}
"""The rows of each table, by its name."""


def frame(name: str) -> Any:
    """A table as a DataFrame."""
    import pandas as pd

    return pd.DataFrame(TABLES[name]())
