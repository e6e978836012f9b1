"""Data frames and files of tables, as a SQLite file that lives as long as its owner."""

from __future__ import annotations

import json
import math
import sqlite3
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._json_values import with_index
from antiphon.errors import ValidationError
from antiphon.systems._text_table import read_text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

__all__ = ["read_table", "stored_frames"]

_INFERRED = 10_000
"""Rows by which the types of columns are declared."""
_EXACT_DIGITS = 15
"""The digits that a decimal keeps as the floating-point number that SQLite stores."""

_Table = tuple[list[str], "Iterable[Sequence[Any]]"]


def stored_frames(frames: Any, owner: object) -> Path:
    """Write each frame as a table of a new SQLite file, which goes with its owner.

    Raises:
        ValidationError: a frame or its name cannot be used (``input_invalid``).
    """
    if not isinstance(frames, Mapping) or not frames:
        found = "an empty dict" if isinstance(frames, Mapping) else type(frames).__name__
        raise ValidationError(
            f"`frames` must be a dict of data frames by name: {found}",
            code="input_invalid",
            hint='pass `frames={"sales": frame}`',
        )
    _check_names(frames)
    folder = tempfile.mkdtemp(prefix="antiphon-frames-")
    weakref.finalize(owner, _remove, folder)
    path = Path(folder) / "frames.db"
    connection = sqlite3.connect(path)
    try:
        with connection:
            for name, frame in frames.items():
                _write(connection, name, _table(name, frame))
    finally:
        connection.close()
    return path


def _check_names(frames: Mapping[Any, Any]) -> None:
    """SQLite ignores the case of names."""
    known: dict[str, str] = {}
    for name in map(str, frames):
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValidationError(
                f"the names of two frames differ only in case: {other}, {name}",
                code="input_invalid",
            )


def read_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The table of a CSV, TSV or Parquet file, by the name of the file.

    Raises:
        ValidationError: the file cannot be read (``input_invalid``).
    """
    file = Path(path)
    if file.suffix.lower() != ".parquet":
        return {file.stem: read_text_table(file)}
    try:
        return {file.stem: _parquet(file)}
    except ValidationError:
        raise
    except Exception as error:  # each library has exceptions of its own for damaged files
        raise ValidationError(
            f"the file of a table cannot be read: {file}: {error}", code="input_invalid"
        ) from error


def _parquet(file: Path) -> Any:
    try:
        import polars as pl
    except ModuleNotFoundError:
        pass
    else:
        return pl.read_parquet(file)
    try:
        import pandas as pd

        return pd.read_parquet(file)
    except ImportError as error:
        raise ValidationError(
            f"a Parquet file needs polars, or pandas and pyarrow: {file}",
            code="input_invalid",
            hint="pip install polars",
        ) from error


def _table(name: str, frame: Any) -> _Table:
    """The names of the columns, and the rows."""
    if hasattr(frame, "iter_rows") and hasattr(frame, "columns"):
        return [str(column) for column in frame.columns], frame.iter_rows()
    if hasattr(frame, "itertuples") and hasattr(frame, "columns"):
        frame = with_index(frame, keeps_numbers=False)
        columns = [str(column) for column in frame.columns]
        return columns, frame.itertuples(index=False, name=None)
    if isinstance(frame, Mapping):
        return [str(column) for column in frame], _rows_of(name, frame)
    if isinstance(frame, Sequence) and frame and all(isinstance(row, Mapping) for row in frame):
        keys = list(dict.fromkeys(chain.from_iterable(frame)))
        return [str(key) for key in keys], ([row.get(key) for key in keys] for row in frame)
    raise ValidationError(
        f"`frames` must hold data frames, dicts of columns or lists of dicts; `{name}` is "
        f"something else: {type(frame).__name__}",
        code="input_invalid",
        hint=_frame_hint(frame),
    )


def _frame_hint(given: Any) -> str:
    if not hasattr(given, "to_frame"):
        return "pass a pandas or polars DataFrame"
    hint = "a series becomes a frame with `.to_frame()`"
    return f"{hint}, or with `.reset_index()`" if hasattr(given, "reset_index") else hint


def _rows_of(name: str, columns: Mapping[Any, Any]) -> Iterable[Sequence[Any]]:
    for column, cells in columns.items():
        if isinstance(cells, str) or not hasattr(cells, "__len__"):
            raise ValidationError(
                f"the column `{column}` of the frame `{name}` must be a list: "
                f"{type(cells).__name__}",
                code="input_invalid",
            )
    lengths = {str(column): len(cells) for column, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise ValidationError(
            f"the columns of the frame `{name}` have different lengths: {shown}",
            code="input_invalid",
        )
    return zip(*columns.values(), strict=True)


def _write(connection: sqlite3.Connection, name: Any, table: _Table) -> None:
    names, rows = table
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise ValidationError(f"the name of a frame must be a text: {name!r}", code="input_invalid")
    if not names:
        raise ValidationError(f"a frame has no columns: {name}", code="input_invalid")
    try:
        given = iter(rows)
        first = list(islice(given, _INFERRED))
        columns = ", ".join(
            f"{_quoted(column)} {_declared([row[at] for row in first])}"
            for at, column in enumerate(_distinct(names))
        )
        connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
        places = ", ".join("?" * len(names))
        insert = f"INSERT INTO {_quoted(name)} VALUES ({places})"  # noqa: S608 - quoted
        cells = (list(map(_cell, row)) for row in chain(first, given))
        connection.executemany(insert, cells)
    except (sqlite3.Error, OverflowError, ValueError) as error:
        raise ValidationError(
            f"the frame `{name}` cannot be stored: {error}", code="input_invalid"
        ) from error


def _declared(values: Sequence[Any]) -> str:
    """The type of a column in SQLite, by which results have dates, times and decimals again."""
    present = [value for value in values if _cell(value) is not None]
    if present and (named := _named_type(present)) is not None:
        return named
    kinds = {type(_cell(value)) for value in present}
    if kinds <= {int}:
        return "INTEGER" if kinds else "TEXT"
    if kinds <= {int, float}:
        return "REAL"
    return "BLOB" if kinds == {bytes} else "TEXT"


def _named_type(values: Sequence[Any]) -> str | None:
    """The name of a type that SQLite stores as a text or a number."""
    if all(isinstance(value, Decimal) for value in values):
        scale = max(0, *(-int(value.as_tuple().exponent) for value in values), 0)
        whole = max(value.adjusted() + 1 for value in values)
        digits = max(whole, 1) + scale
        return f"DECIMAL({digits}, {scale})" if digits <= _EXACT_DIGITS else None
    if all(isinstance(value, datetime) for value in values):
        zones = {value.tzinfo is not None for value in values}
        return None if len(zones) > 1 else "TIMESTAMPTZ" if zones == {True} else "DATETIME"
    if all(isinstance(value, date) and not isinstance(value, datetime) for value in values):
        return "DATE"
    if all(isinstance(value, time) and value.tzinfo is None for value in values):
        return "TIME"
    is_truth = all(isinstance(value, bool) or type(value).__name__ == "bool" for value in values)
    return "BOOLEAN" if is_truth else None


def _cell(value: Any) -> Any:
    """A value as SQLite stores it.

    Dates are ISO texts, durations seconds, lists and dicts JSON. A decimal as a text would be
    compared letter by letter.
    """
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, bool | int | float):
        return _number(value)
    # NaT is a datetime, and not equal to itself; NA is equal to nothing.
    if type(value).__name__ in {"NaTType", "NAType"}:
        return None
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, Decimal):
        is_whole = value.is_finite() and value == value.to_integral_value()
        return _number(int(value) if is_whole else float(value))
    return _other(value)


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    whole = int(value)
    return whole if -(2**63) <= whole < 2**63 else str(whole)


def _other(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, default=str, ensure_ascii=False)
    plain = value.item() if hasattr(value, "item") else str(value)
    return plain if isinstance(plain, str) else _cell(plain)


def _distinct(names: Iterable[str]) -> list[str]:
    """Names that differ also for SQLite, which ignores their case."""
    found: list[str] = []
    for given in names:
        name, number = given or "column", 2
        while name.lower() in {one.lower() for one in found}:
            name, number = f"{given or 'column'}_{number}", number + 1
        found.append(name)
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
