"""Data frames and files of tables, as a SQLite file that lives as long as its owner."""

from __future__ import annotations

import sqlite3
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._json_values import with_index
from antiphon.errors import ValidationError
from antiphon.systems._column_names import distinct_names
from antiphon.systems._frame_column import FrameColumn
from antiphon.systems._text_table import read_text_table

if TYPE_CHECKING:
    import os

__all__ = ["read_table", "stored_frames"]


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
                _write(connection, name, _columns(name, frame))
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


def _columns(name: str, frame: Any) -> list[FrameColumn]:
    """The columns of whatever holds a table."""
    if hasattr(frame, "get_columns") and hasattr(frame, "columns"):
        return [FrameColumn(one.name, one, one.dtype) for one in frame.get_columns()]
    if hasattr(frame, "itertuples") and hasattr(frame, "columns"):
        return _of_pandas(frame)
    if isinstance(frame, Mapping):
        _check_columns(name, frame)
        return [
            FrameColumn(str(column), cells, getattr(cells, "dtype", None))
            for column, cells in frame.items()
        ]
    if isinstance(frame, Sequence) and frame and all(isinstance(row, Mapping) for row in frame):
        keys = list(dict.fromkeys(chain.from_iterable(frame)))
        return [FrameColumn(str(key), [row.get(key) for row in frame]) for key in keys]
    raise ValidationError(
        f"`frames` must hold data frames, dicts of columns or lists of dicts; `{name}` is "
        f"something else: {type(frame).__name__}",
        code="input_invalid",
        hint=_frame_hint(frame),
    )


def _of_pandas(frame: Any) -> list[FrameColumn]:
    """The columns of the index, if it has a meaning, and those of the frame."""
    whole = with_index(frame, keeps_numbers=False)
    count = whole.shape[1] - frame.shape[1]
    names = [str(column) for column in whole.columns]
    # A column of the frame keeps its name, and an index of the same name gets another one.
    free = distinct_names([*names[count:], *names[:count]])
    ordered = free[len(free) - count :] + free[: len(free) - count]
    cells = [whole.iloc[:, at] for at in range(len(names))]
    return [FrameColumn(name, one, one.dtype) for name, one in zip(ordered, cells, strict=True)]


def _frame_hint(given: Any) -> str:
    if not hasattr(given, "to_frame"):
        return "pass a pandas or polars DataFrame"
    hint = "a series becomes a frame with `.to_frame()`"
    return f"{hint}, or with `.reset_index()`" if hasattr(given, "reset_index") else hint


def _check_columns(name: str, columns: Mapping[Any, Any]) -> None:
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


def _write(connection: sqlite3.Connection, name: Any, columns: Sequence[FrameColumn]) -> None:
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise ValidationError(f"the name of a frame must be a text: {name!r}", code="input_invalid")
    if not columns:
        raise ValidationError(f"a frame has no columns: {name}", code="input_invalid")
    most = connection.getlimit(sqlite3.SQLITE_LIMIT_COLUMN)
    if len(columns) > most:
        raise ValidationError(
            f"the frame `{name}` has more than {most:,} columns: {len(columns):,}",
            code="input_invalid",
            hint="keep those that are asked about, or turn them into rows with `.melt()`",
        )
    kinds = [column.declared() for column in columns]
    names = distinct_names(column.name for column in columns)
    try:
        described = ", ".join(map("{} {}".format, map(_quoted, names), kinds))
        connection.execute(f"CREATE TABLE {_quoted(name)} ({described})")
        places = ", ".join("?" * len(names))
        insert = f"INSERT INTO {_quoted(name)} VALUES ({places})"  # noqa: S608 - quoted
        cells = map(FrameColumn.stored, columns, kinds)
        connection.executemany(insert, zip(*cells, strict=True))
    except (sqlite3.Error, OverflowError, RecursionError, ValueError) as error:
        culprit = next((one.name for one in columns if not one.is_storable()), None)
        what = f"the frame `{name}`"
        if culprit is not None:
            what = f"the column `{culprit}` of {what}"
        raise ValidationError(
            f"{what} cannot be stored: {error}",
            code="input_invalid",
            hint=None if culprit is None else "make numbers, dates or Unicode texts of its cells",
        ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
