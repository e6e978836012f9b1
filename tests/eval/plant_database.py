"""A plant with mixed units: °F beside °C, kWh metered and billed, minutes, kg, USD per tonne."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

__all__ = ["fill"]

_SCHEMA = """
CREATE TABLE mach (
    mach_id TEXT PRIMARY KEY, label TEXT NOT NULL, line TEXT, installed TEXT NOT NULL,
    rated_kw REAL, max_temp_c REAL NOT NULL, retired_on TEXT
);
CREATE TABLE sens_log (
    log_id INTEGER PRIMARY KEY, mach_id TEXT NOT NULL REFERENCES mach, ts TEXT NOT NULL,
    temp_f REAL, press_kpa REAL, vib_mm_s REAL
);
CREATE TABLE energy_day (
    mach_id TEXT NOT NULL REFERENCES mach, day TEXT NOT NULL, kwh_metered REAL, kwh_billed REAL
);
CREATE TABLE downtime (
    mach_id TEXT NOT NULL REFERENCES mach, began_epoch INTEGER NOT NULL, mins INTEGER,
    cause_cd TEXT, planned INTEGER NOT NULL
);
CREATE TABLE cause (cause_cd TEXT PRIMARY KEY, "cause text" TEXT NOT NULL);
CREATE TABLE batch (
    batch_no TEXT PRIMARY KEY, mach_id TEXT NOT NULL REFERENCES mach, prod_code TEXT NOT NULL,
    made_on TEXT NOT NULL, out_kg REAL NOT NULL, scrap_kg REAL, run_min INTEGER NOT NULL
);
CREATE TABLE prod (
    prod_code TEXT PRIMARY KEY, title TEXT NOT NULL, price_usd_t REAL, dens_kg_m3 REAL NOT NULL
);
"""
_MACHINES = (
    ("M-01", "Extruder A", "line 1", "2011-05-17", 110.0, 95.0, None),
    ("M-02", "Extruder B", "line 1", "2014-09-02", 132.0, 95.0, None),
    ("M-03", "Mixer", "line 1", "2009-02-11", 45.0, 70.0, "2024-03-31"),
    ("M-04", "Granulator", "line 2", "2016-11-23", 75.0, 80.0, None),
    ("M-05", "Dryer", "line 2", "2018-06-30", None, 120.0, None),
    ("M-06", "Compressor", None, "2013-01-15", 55.0, 90.0, None),
    ("M-07", "Packer", "line 2", "2020-10-08", 18.5, 60.0, None),
)
_CAUSES = (
    ("BRK", "broken part"),
    ("CLN", "cleaning"),
    ("PWR", "power cut"),
    ("MAT", "no material"),
    ("SET", "change of product"),
)
_PRODUCTS = (
    ("PE-L", "Polyethylene, low density", 1240.0, 920.0),
    ("PE-H", "Polyethylene, high density", 1185.0, 955.0),
    ("PP-N", "Polypropylene, natural", 1310.0, 905.0),
    ("PP-R", "Polypropylene, recycled", None, 910.0),
    ("PS-C", "Polystyrene, clear", 1475.0, 1050.0),
)
_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS = 121


def fill(connection: sqlite3.Connection) -> None:
    """Fills an empty database; always with the same rows."""
    chance = random.Random(19841031)
    connection.executescript(_SCHEMA)
    connection.executemany("INSERT INTO mach VALUES (?, ?, ?, ?, ?, ?, ?)", _MACHINES)
    connection.executemany("INSERT INTO cause VALUES (?, ?)", _CAUSES)
    connection.executemany("INSERT INTO prod VALUES (?, ?, ?, ?)", _PRODUCTS)
    for number in range(_DAYS):
        _day(connection, chance, _BEGIN + timedelta(days=number))


def _day(connection: sqlite3.Connection, chance: random.Random, day: datetime) -> None:
    for machine, label, _, _, power, limit, retired in _MACHINES:
        if retired is not None and f"{day:%Y-%m-%d}" > retired:
            continue
        _readings(connection, chance, machine, limit, day)
        metered = round((power or 60.0) * (9 + chance.random() * 8), 1)
        billed = None if chance.random() < 0.05 else round(metered * 1.03, 1)
        read = None if chance.random() < 0.05 else metered
        energy = (machine, f"{day:%Y-%m-%d}", read, billed)
        connection.execute("INSERT INTO energy_day VALUES (?, ?, ?, ?)", energy)
        if chance.random() < 0.12:
            _stop(connection, chance, machine, day)
        if label.startswith("Extruder") or (machine == "M-04" and chance.random() < 0.5):
            _batch(connection, chance, machine, day)


def _readings(
    connection: sqlite3.Connection, chance: random.Random, machine: str, limit: float, day: datetime
) -> None:
    for hour in (6, 14, 22):
        celsius = limit - 25 + chance.random() * 26.5
        row = (
            machine,
            f"{day:%Y-%m-%d} {hour:02}:00",
            None if chance.random() < 0.06 else round(celsius * 9 / 5 + 32, 1),
            round(180 + chance.random() * 420, 1),
            None if machine == "M-05" else round(chance.random() * 7.4, 2),
        )
        # A reading that was sent twice stands in two rows.
        for _ in range(2 if chance.random() < 0.03 else 1):
            connection.execute(
                "INSERT INTO sens_log (mach_id, ts, temp_f, press_kpa, vib_mm_s)"
                " VALUES (?, ?, ?, ?, ?)",
                row,
            )


def _stop(
    connection: sqlite3.Connection, chance: random.Random, machine: str, day: datetime
) -> None:
    began = day + timedelta(minutes=int(chance.random() * 1380))
    minutes = None if chance.random() < 0.1 else 5 + int(chance.random() * 235)
    cause = (*(code for code, _ in _CAUSES), None)[int(chance.random() * 6)]
    row = (machine, int(began.timestamp()), minutes, cause, int(cause in {"CLN", "SET"}))
    connection.execute("INSERT INTO downtime VALUES (?, ?, ?, ?, ?)", row)


def _batch(
    connection: sqlite3.Connection, chance: random.Random, machine: str, day: datetime
) -> None:
    product = _PRODUCTS[int(chance.random() * len(_PRODUCTS))][0]
    made = round(800 + chance.random() * 3400, 1)
    scrap = None if chance.random() < 0.08 else round(made * chance.random() * 0.06, 1)
    row = (
        f"B{day:%y%m%d}-{machine[-2:]}",
        machine,
        product,
        f"{day:%Y-%m-%d}",
        made,
        scrap,
        240 + int(chance.random() * 900),
    )
    connection.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?)", row)
