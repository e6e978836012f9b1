"""A shop with awkward names: near-synonyms of money, customers entered twice, gaps, two units."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

__all__ = ["fill"]

_T = TypeVar("_T")

_SCHEMA = """
CREATE TABLE cust (
    cust_no INTEGER PRIMARY KEY, nm TEXT NOT NULL, city TEXT, ctry TEXT NOT NULL,
    since_ym INTEGER NOT NULL, segm TEXT
);
CREATE TABLE itm (
    itm_id TEXT PRIMARY KEY, "Item Name" TEXT NOT NULL, grp TEXT NOT NULL,
    list_price_eur REAL NOT NULL, cost_eur REAL, wt_g INTEGER, discontinued INTEGER NOT NULL
);
CREATE TABLE "Order Head" (
    ord_no INTEGER PRIMARY KEY, cust_no INTEGER NOT NULL REFERENCES cust, ordered_on TEXT NOT NULL,
    shipped_on TEXT, status TEXT NOT NULL, ship_fee_eur REAL
);
CREATE TABLE ord_pos (
    ord_no INTEGER NOT NULL REFERENCES "Order Head", pos INTEGER NOT NULL,
    itm_id TEXT NOT NULL REFERENCES itm, qty INTEGER NOT NULL, disc_pct REAL,
    net_eur REAL NOT NULL, gross_eur REAL NOT NULL, PRIMARY KEY (ord_no, pos)
);
CREATE TABLE parcel (
    parcel_no TEXT PRIMARY KEY, ord_no INTEGER NOT NULL REFERENCES "Order Head",
    carrier TEXT NOT NULL, wt_kg REAL, sent_on TEXT NOT NULL
);
CREATE TABLE stock_lvl (
    itm_id TEXT NOT NULL REFERENCES itm, site TEXT NOT NULL, on_hand INTEGER, reserved INTEGER
);
"""
_CITIES = (
    ("Berlin", "DE"), ("Hamburg", "DE"), ("Köln", "DE"), ("Wien", "AT"), ("Graz", "AT"),
    ("Lyon", "FR"), ("Lille", "FR"), ("Utrecht", "NL"),
)  # fmt: skip
_ITEMS = (
    ("T-100", "Green tea 100 g", "TEA", 6.9, 2.4, 130, 0),
    ("T-101", "Black tea 250 g", "TEA", 9.5, 3.1, 290, 0),
    ("T-102", "White tea 50 g", "TEA", 14.9, 6.2, 80, 0),
    ("T-103", "Smoked tea 100 g", "TEA", 8.4, None, 130, 1),
    ("C-200", "Espresso beans 1 kg", "COF", 19.9, 9.8, 1050, 0),
    ("C-201", "Filter coffee 500 g", "COF", 8.9, 3.9, 540, 0),
    ("C-202", "Decaf beans 250 g", "COF", 7.9, 3.5, 280, 0),
    ("H-300", "Teapot, cast iron", "HW", 49.0, 21.0, 1850, 0),
    ("H-301", "Gooseneck kettle", "HW", 79.0, 38.5, 1200, 0),
    ("H-302", "Hand grinder", "HW", 95.0, 44.0, 700, 0),
    ("H-303", "Paper filters, 100", "HW", 4.2, None, None, 1),
    ("G-400", "Gift box", "GFT", 12.0, 3.0, 350, 0),
)
_NAMES = (
    "Abel Ahrens Baran Bosman Caspers Dietz Dubois Eder Faber Girard Haas Huber Imhof Jansen "
    "Keller Lang Laurent Maier Moreau Nagel Olbrich Peters Roux Sauer Thoma Ulmer Vogt Weiss"
)
_ORDERS = 260
_TWICE = 4
"""Customers who were entered a second time, under another number."""


def fill(connection: sqlite3.Connection) -> None:
    """Fills an empty database; always with the same rows."""
    chance = random.Random(20240229)
    connection.executescript(_SCHEMA)
    connection.executemany("INSERT INTO itm VALUES (?, ?, ?, ?, ?, ?, ?)", _ITEMS)
    customers = list(_customers(chance))
    connection.executemany("INSERT INTO cust VALUES (?, ?, ?, ?, ?, ?)", customers)
    for number in range(70001, 70001 + _ORDERS):
        _order(connection, chance, number, customers)
    levels = [
        (one[0], site, None if chance.random() < 0.15 else int(chance.random() * 90), taken)
        for one in _ITEMS
        for site in ("north hall", "south hall")
        for taken in [int(chance.random() * 12)]
    ]
    connection.executemany("INSERT INTO stock_lvl VALUES (?, ?, ?, ?)", levels)


def _pick(chance: random.Random, values: Sequence[_T]) -> _T:
    return values[int(chance.random() * len(values))]


def _customers(chance: random.Random) -> Iterator[tuple[object, ...]]:
    names = _NAMES.split()
    for place, name in enumerate((*names, *names[:_TWICE])):
        again = place >= len(names)
        city, country = _CITIES[(place - len(names) if again else place) * 3 % len(_CITIES)]
        year = 2023 if again else 2017 + int(chance.random() * 6)
        since = year * 100 + 1 + int(chance.random() * 12)
        segment = _pick(chance, ("private", "private", "trade", None))
        yield 1001 + place, name, None if place % 11 == 9 else city, country, since, segment


def _order(
    connection: sqlite3.Connection,
    chance: random.Random,
    number: int,
    customers: Sequence[tuple[object, ...]],
) -> None:
    day = date(2023, 1, 2) + timedelta(days=int(chance.random() * 720))
    status = _pick(chance, ("shipped",) * 7 + ("open", "cancelled", "returned"))
    sent = day + timedelta(days=1 + int(chance.random() * 9))
    shipped = sent.isoformat() if status in {"shipped", "returned"} else None
    fee = None if chance.random() < 0.2 else _pick(chance, (0.0, 4.9, 4.9, 7.5))
    customer = _pick(chance, customers)[0]
    row = (number, customer, day.isoformat(), shipped, status, fee)
    connection.execute('INSERT INTO "Order Head" VALUES (?, ?, ?, ?, ?, ?)', row)
    weight = 0
    for place in range(1, 2 + int(chance.random() * 4)):
        item = _pick(chance, _ITEMS)
        quantity = 1 + int(chance.random() * 6)
        discount = _pick(chance, (None, None, None, 0.0, 5.0, 10.0))
        net = round(quantity * item[3] * (1 - (discount or 0) / 100), 2)
        gross = round(net * (1.07 if item[2] in {"TEA", "COF"} else 1.19), 2)
        position = (number, place, item[0], quantity, discount, net, gross)
        connection.execute("INSERT INTO ord_pos VALUES (?, ?, ?, ?, ?, ?, ?)", position)
        weight += quantity * (item[5] or 0)
    if shipped is not None:
        carrier = _pick(chance, ("PostNL", "DHL", "DHL", "GLS"))
        weighed = None if chance.random() < 0.1 else round(weight / 1000 + 0.2, 2)
        parcel = (f"P{number}A", number, carrier, weighed, shipped)
        connection.execute("INSERT INTO parcel VALUES (?, ?, ?, ?, ?)", parcel)
