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
_HIVES = """
V25-001|H-01a|Lime Row|2025-04-12|5|-|-|-|1.2|2023|Odile
V25-002|H-01b|Lime Row|2025-04-12|4|-|-|-|0.8|2024|Odile
V25-003|H-02|Quarry|2025-04-19|6|-|-|-|2.1|2022|Bram
V25-004|H-03|Quarry|2025-04-19|3|-|-|-|-|2024|Bram
V25-005|H-07b|Heath End|2025-04-27|5|-|-|-|1.5|2023|Wanda
V25-006|H-07c|Heath End|2025-04-27|2|-|-|-|3.4|-|Wanda
V25-007|H-11|Old Mill|2025-05-04|4|-|-|-|0.6|2024|Bram
V25-009|H-01a|Lime Row|2025-05-31|8|14.6|12.9|17.4|1.9|2023|Odile
V25-010|H-01b|Lime Row|2025-05-31|7|11.2|9.8|17.9|1.1|2024|Odile
V25-012|H-02|Quarry|2025-06-07|9|18.3|16.4|16.8|2.9|2022|Bram
V25-013|H-03|Quarry|2025-06-07|6|9.5|8.1|18.6|1.3|2024|Odile
V25-014|H-07b|Heath End|2025-06-14|7|13.0|11.6|-|2.2|2023|Wanda
V25-015|H-07c|Heath End|2025-06-15|4|-|-|-|4.7|2025|Odile
V25-016|H-11|Old Mill|2025-06-20|6|10.4|9.0|17.1|-|2024|Bram
V25-019|H-01a|Lime Row|2025-07-19|7|16.1|14.3|16.5|3.0|2023|Odile
V25-020|H-01b|Lime Row|2025-07-19|6|12.7|11.3|17.2|1.8|2024|Wanda
V25-021|H-02|Quarry|2025-07-26|8|20.8|17.8|17.0|3.6|2022|Bram
V25-022|H-03|Quarry|2025-07-26|6|15.9|14.4|-|1.7|2024|Bram
V25-023|H-07b|Heath End|2025-08-03|5|9.9|8.8|19.2|2.6|2023|Wanda
V25-024|H-11|Old Mill|2025-08-08|5|8.7|7.6|18.0|1.4|2024|Bram
V25-027|H-01a|Lime Row|2025-09-13|3|-|-|-|2.4|2023|Odile
V25-028|H-02|Quarry|2025-09-20|4|-|-|-|4.1|2022|Bram
V25-030|H-07b|Heath End|2025-09-21|3|-|-|-|-|2023|Wanda
"""
_MARINA = """
BX-101|A3|Petrel|31|3.1|2024-05-03|2024-05-06|24.0|6.5|0|Falmouth
BX-102|B1|Grey Goose|42|3.9|2024-05-09|2024-05-19|33.5|41.0|10|Brest
BX-103|A3|Sorrel|26|2.6|2024-05-17|2024-05-18|19.0|-|0|Fowey
BX-104|C7|Maud II|38|3.6|2024-05-24|2024-06-02|30.0|22.4|5|Cork
BX-106|B2|Petrel|31|3.1|2024-06-01|2024-06-04|24.0|5.8|0|Falmouth
BX-107|A1|Zephyr|29|2.9|2024-06-07|2024-06-08|22.0|-|0|-
BX-108|C7|Ondine|47|4.3|2024-06-14|2024-06-28|38.0|77.9|15|Roscoff
BX-110|B1|Halcyon|36|3.4|2024-06-21|2024-06-25|28.5|12.2|0|Dartmouth
BX-111|A3|Sorrel|26|2.6|2024-06-29|2024-07-01|19.0|2.1|0|Fowey
BX-112|B2|Grey Goose|42|3.9|2024-07-05|2024-07-12|36.0|30.3|5|Brest
BX-113|A1|Petrel|31|3.1|2024-07-12|2024-07-16|26.5|8.4|5|Falmouth
BX-115|C4|Kittiwake|33|3.2|2024-07-13|2024-07-14|27.0|-|0|Penzance
BX-116|C7|Maud II|38|3.6|2024-07-19|2024-07-31|32.5|35.6|10|Cork
BX-118|B1|Tern|24|2.5|2024-07-20|2024-07-22|18.5|1.7|0|Fowey
BX-119|A3|Halcyon|36|3.4|2024-07-26|2024-08-07|31.0|48.8|15|Dartmouth
BX-121|B2|Zephyr|29|2.9|2024-08-02|2024-08-05|24.5|4.0|0|-
BX-122|C4|Ondine|47|4.3|2024-08-16|-|40.0|-|15|Roscoff
BX-123|A1|Sorrel|26|2.6|2024-08-17|2024-08-20|20.5|3.3|0|Fowey
BX-125|B1|Lady Jane|40|3.7|2024-08-23|-|34.0|-|10|Falmouth
BX-126|A3|Kittiwake|33|3.2|2024-08-30|2024-08-31|27.0|0.9|0|Penzance
"""
_HELPDESK = """
INC-40A1|Network|high|2025-01-06|2025-01-08|2025-01-07|12|3.5|90|Selma
INC-40A2|Laptops|low|2025-01-06|2025-01-20|2025-01-22|240|1.0|55|Piet
INC-40A3|Accounts|mid|2025-01-08|2025-01-15|2025-01-09|35|0.5|100|Noor
INC-40A5|Printers|low|2025-01-13|2025-01-27|2025-01-30|410|2.0|40|Piet
INC-40A6|Network|high|2025-01-14|2025-01-16|2025-01-18|25|6.0|60|Selma
INC-40A8|Accounts|low|2025-01-17|2025-01-31|2025-01-20|95|0.25|85|Noor
INC-40A9|Laptops|mid|2025-01-21|2025-01-28|2025-01-27|60|2.75|-|Selma
INC-40B1|Network|mid|2025-01-27|2025-02-03|2025-02-05|48|4.5|70|Ugo
INC-40B1|Network|mid|2025-01-27|2025-02-03|2025-02-05|48|4.5|70|Ugo
INC-40B2|Accounts|high|2025-02-03|2025-02-05|2025-02-04|8|1.5|95|Noor
INC-40B4|Printers|mid|2025-02-04|2025-02-11|2025-02-11|130|1.25|75|Piet
INC-40B5|Laptops|high|2025-02-07|2025-02-11|2025-02-14|30|5.0|50|Ugo
INC-40B7|Network|low|2025-02-10|2025-02-24|2025-02-19|180|2.25|80|Selma
INC-40B8|Accounts|mid|2025-02-12|2025-02-19|-|75|0.75|-|Noor
INC-40B9|Laptops|low|2025-02-18|2025-03-04|2025-03-03|300|1.75|65|Piet
INC-40C1|Printers|high|2025-02-20|2025-02-24|2025-02-21|18|3.0|88|Ugo
INC-40C2|Network|high|2025-02-25|2025-02-27|2025-03-03|-|7.5|35|Ugo
INC-40C3|Accounts|low|2025-03-03|2025-03-17|2025-03-05|66|0.5|92|Noor
INC-40C6|Laptops|mid|2025-03-05|2025-03-12|2025-03-11|85|2.5|78|Selma
INC-40C7|Printers|low|2025-03-10|2025-03-24|-|520|-|-|-
INC-40C8|Network|mid|2025-03-11|2025-03-18|2025-03-17|40|3.25|82|Selma
INC-40D1|Accounts|high|2025-03-13|2025-03-17|2025-03-14|6|1.0|98|Noor
INC-40D2|Laptops|high|2025-03-17|2025-03-19|2025-03-20|22|4.0|72|Ugo
INC-40D4|Printers|mid|2025-03-24|2025-03-31|-|155|-|-|Piet
INC-40D5|Network|low|2025-03-26|2025-04-09|-|210|-|-|-
INC-40D9|Accounts|high|2025-03-27|2025-03-31|2025-03-28|9|0.5|94|Noor
"""


def _rows(text: str, separator: str | None = None) -> list[list[str | None]]:
    return [
        [None if cell == "-" else cell for cell in line.split(separator)]
        for line in text.split("\n")[1:-1]
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


def _whole(cell: str | None) -> int | None:
    return None if cell is None else int(cell)


def _hives() -> list[dict[str, Any]]:
    return [
        {
            "log no.": log,
            "HIVE": hive,
            "stand": stand,
            "visited": day,
            "brood frames": _whole(brood),
            "kg gross (comb+wax)": _number(gross),
            "kg net": _number(net),
            "water in honey %": _number(water),
            "mites /100 bees": _number(mites),
            "queen since": _whole(queen),
            "seen by": visitor,
        }
        for log, hive, stand, day, brood, gross, net, water, mites, queen, visitor in _rows(
            _HIVES, "|"
        )
    ]


def _marina() -> list[dict[str, Any]]:
    return [
        {
            "Stay ref": stay,
            "berth": berth,
            "Boat": boat,
            "LOA (ft)": _whole(length),
            "beam m": _number(beam),
            "arr.": arrived,
            "dep.": left,
            "£ / night": _number(price),
            "power kWh": _number(power),
            "disc. %": _whole(discount),
            "from port": port,
        }
        for stay, berth, boat, length, beam, arrived, left, price, power, discount, port in _rows(
            _MARINA, "|"
        )
    ]


def _helpdesk() -> list[dict[str, Any]]:
    return [
        {
            "Ticket": ticket,
            "queue": queue,
            "prio": priority,
            "raised": raised,
            "due by": due,
            "solved on": solved,
            "1st reply (min)": _whole(reply),
            "effort [h]": _number(effort),
            "happy %": _whole(happy),
            "Agent": agent,
        }
        for ticket, queue, priority, raised, due, solved, reply, effort, happy, agent in _rows(
            _HELPDESK, "|"
        )
    ]


TABLES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "shop": _shop,
    "weather": _weather,
    "staff": _staff,
    "elements": _elements,
    "library": _library,
    "fleet": _fleet,
    "hives": _hives,
    "marina": _marina,
    "helpdesk": _helpdesk,
}
"""The rows of each table, by its name."""


def frame(name: str) -> Any:
    """A table as a DataFrame."""
    import pandas as pd

    return pd.DataFrame(TABLES[name]())
