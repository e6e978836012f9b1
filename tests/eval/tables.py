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
_FLATS = """
FL-01|Mill Lane 4|Old Town|2|54.0|780|165|3|1912|2025-09-01|no|2340
FL-02|Quay Street 18|Harbour|3|81.5|1190|210|1|2004|2025-10-01|yes|3570
FL-03|Mill Lane 11|Old Town|1|31.0|520|95|0|1912|2025-08-15|no|1040
FL-04|Birch Rise 7|Hillside|4|104.0|1260|285|2|1978|2025-11-01|yes|-
FL-05|Birch Rise 9|Hillside|3|88.0|990|240|0|1978|2025-09-15|yes|1980
FL-06|Dock Road 2|Harbour|2|63.0|1010|150|5|2016|2025-09-01|no|3030
FL-07|Bell Yard 1|Old Town|3|77.0|1085|190|2|1898|2025-10-15|-|2170
FL-08|Station Way 30|Northfield|2|58.5|640|175|4|1966|2025-08-01|yes|1280
FL-09|Station Way 34|Northfield|3|72.0|735|205|1|1966|2025-12-01|no|1470
FL-10|Quay Street 25|Harbour|1|38.0|690|90|6|2004|2025-09-01|no|2070
FL-11|Orchard End 3|Hillside|2|61.0|710|160|1|1989|2025-10-01|no|-
FL-12|Bell Yard 5|Old Town|5|132.0|1720|340|1|1898|2026-01-01|yes|5160
FL-13|Station Way 41|Northfield|1|29.5|410|85|2|1971|2025-08-01|no|820
FL-14|Dock Road 6|Harbour|4|112.0|1840|260|7|2016|2025-11-15|no|5520
FL-15|Orchard End 8|Hillside|3|84.5|930|215|0|1989|2025-09-01|yes|1860
FL-16|Fair Green 12|Northfield|4|97.0|880|270|0|1958|2025-10-01|yes|1760
FL-17|Mill Lane 20|Old Town|2|49.5|745|140|4|1925|2025-09-15|-|1490
"""
_VET = """
C-2201|Biscuit|dog|24.5|2017-05-10|2025-02-03|vaccination|Dr. Amari|92.50|2025-02-03
C-2202|Mimi|cat|4.1|2020-08-01|2025-02-03|teeth|Dr. Lund|310.00|2025-02-21
C-2203|Otto|rabbit|2.3|2022-03-15|2025-02-05|claws|Dr. Amari|35.00|2025-02-05
C-2204|Shadow|cat|5.6|2015-11-20|2025-02-06|limp|Dr. Lund|185.00|2025-03-10
C-2206|Rex|dog|31.0|2019-01-07|2025-02-10|vaccination|Dr. Sato|92.50|2025-02-14
C-2207|Biscuit|dog|24.9|2017-05-10|2025-02-17|limp|Dr. Lund|240.00|2025-02-28
C-2208|Pepper|guinea pig|0.9|-|2025-02-18|claws|Dr. Amari|28.00|2025-02-18
C-2209|Luna|cat|3.8|2023-06-30|2025-02-20|vaccination|Dr. Amari|78.00|2025-02-24
C-2211|Bruno|dog|12.2|2021-09-12|2025-02-24|ears|Dr. Sato|120.00|-
C-2212|Mimi|cat|4.0|2020-08-01|2025-02-27|check-up|Dr. Lund|60.00|2025-03-03
C-2213|Otto|rabbit|2.4|2022-03-15|2025-03-03|teeth|Dr. Sato|145.00|2025-04-14
C-2215|Kira|dog|18.7|2018-04-02|2025-03-04|vaccination|Dr. Amari|92.50|2025-03-04
C-2216|Tiger|cat|6.2|-|2025-03-06|check-up|Dr. Amari|60.00|2025-03-20
C-2217|Rex|dog|31.8|2019-01-07|2025-03-11|ears|Dr. Sato|110.00|2025-03-25
C-2218|Shadow|cat|5.4|2015-11-20|2025-03-13|limp|Dr. Lund|95.00|-
C-2219|Nala|dog|8.4|2024-10-05|2025-03-17|vaccination|Dr. Amari|85.00|2025-03-19
C-2221|Bruno|dog|12.5|2021-09-12|2025-03-20|teeth|Dr. Lund|355.00|2025-04-22
C-2222|Luna|cat|-|2023-06-30|2025-03-24|ears|Dr. Sato|88.00|-
C-2223|Pepper|guinea pig|1.0|-|2025-03-25|claws|Dr. Amari|28.00|2025-03-25
C-2224|Biscuit|dog|25.3|2017-05-10|2025-03-27|check-up|Dr. Lund|65.00|2025-03-31
C-2225|Coco|rabbit|1.8|2024-01-18|2025-03-31|vaccination|Dr. Sato|64.00|2025-04-07
"""
_RACE = """
101|Anneke Vos|Canal Runners|1988|23.4|47.9|25|2025-01-12|M
102|Kofi Mensah|Hill Hares|1994|19.2|38.6|25|2025-01-15|L
104|Rosa Iglesias|-|1979|27.8|57.1|30|2025-03-20|S
105|Peter Hollis|Hill Hares|1966|26.1|-|25|2025-01-30|L
107|Yuki Tanaka|Canal Runners|2001|20.5|40.3|18|2025-02-02|S
108|Lars Bakke|Night Owls|1983|22.0|43.8|25|2025-02-09|XL
109|Chloe Martin|Night Owls|1997|24.7|50.6|25|2025-02-11|M
111|Emre Kaya|-|1990|21.3|44.5|30|2025-03-28|M
112|Greta Holm|Hill Hares|1975|25.5|50.2|25|2025-02-14|M
113|Ivan Petrov|Canal Runners|1971|28.9|61.4|25|2025-02-20|XL
114|Nora Quinn|Night Owls|2004|22.6|46.1|18|2025-02-23|S
116|Samuel Ortiz|Hill Hares|1986|20.1|41.7|25|2025-02-27|L
117|Beatrix Lang|-|1992|-|-|30|2025-04-02|M
118|Dev Chandra|Canal Runners|1999|18.8|39.5|18|2025-03-01|M
119|Fiona Reid|Hill Hares|1981|24.0|47.2|25|2025-03-03|S
121|Hugo Blanc|Night Owls|1963|30.2|63.0|25|2025-03-05|L
122|Mira Novak|Canal Runners|1985|26.6|54.8|25|2025-03-08|M
124|Tariq Salim|-|1996|23.1|-|30|2025-04-05|L
125|Wilma Berg|Night Owls|1978|29.4|60.7|25|2025-03-11|S
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


def _flats() -> list[dict[str, Any]]:
    return [
        {
            "Ad": ad,
            "address": address,
            "part of town": part,
            "rooms": _whole(rooms),
            "m²": _number(size),
            "cold rent €": _whole(rent),
            "extras €/month": _whole(extras),
            "floor": _whole(floor),
            "built": _whole(built),
            "free from": free,
            "pets ok?": pets,
            "Deposit (€)": _whole(deposit),
        }
        for (
            ad, address, part, rooms, size, rent, extras, floor, built, free, pets, deposit,
        ) in _rows(_FLATS, "|")
    ]  # fmt: skip


def _vet() -> list[dict[str, Any]]:
    return [
        {
            "case": case,
            "pet": pet,
            "kind of animal": kind,
            "weight kg": _number(weight),
            "pet born": born,
            "seen on": seen,
            "came for": reason,
            "treated by": doctor,
            "bill [CHF]": _number(bill),
            "paid": paid,
        }
        for case, pet, kind, weight, born, seen, reason, doctor, bill, paid in _rows(_VET, "|")
    ]


def _race() -> list[dict[str, Any]]:
    return [
        {
            "Bib": _whole(bib),
            "runner": runner,
            "club": club,
            "yr born": _whole(born),
            "at 5 km (min)": _number(half),
            "at 10 km (min)": _number(finish),
            "entry fee €": _whole(fee),
            "signed up": signed,
            "T-shirt": shirt,
        }
        for bib, runner, club, born, half, finish, fee, signed, shirt in _rows(_RACE, "|")
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
    "flats": _flats,
    "vet": _vet,
    "race": _race,
}
"""The rows of each table, by its name."""


def frame(name: str) -> Any:
    """A table as a DataFrame."""
    import pandas as pd

    return pd.DataFrame(TABLES[name]())
