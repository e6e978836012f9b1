"""Tables in text files: the delimiter, the types of columns, and the marks of missing values."""

from __future__ import annotations

import csv
import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["read_text_table"]

_DELIMITERS = (",", ";", "\t", "|")
_MISSING = {"", "-", "?", "#n/a", "<na>", "n/a", "na", "nan", "none", "null"}
"""Cells that stand for nothing in a column of numbers; elsewhere they are texts."""
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_CODE = re.compile(r"[+-]?0\d+")
"""A leading zero is a part of a code, as in a postcode."""
_WHOLE = re.compile(r"[+-]?\d+")
_ISO_FORMS: tuple[tuple[re.Pattern[str], type[date | time]], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d"), date),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"), datetime),
    (re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"), time),
)


def read_text_table(file: Path) -> dict[str, list[Any]]:
    """The columns of a CSV or TSV file.

    Raises:
        ValidationError: it cannot be read, or its rows have different lengths
            (``input_invalid``).
    """
    rows, delimiter = _rows(file)
    if not rows:
        raise ValidationError(f"the file of a table is empty: {file}", code="input_invalid")
    names, cells = [name.strip() for name in rows[0]], [row for row in rows[1:] if row]
    for number, row in enumerate(cells, start=2):
        if len(row) != len(names):
            raise ValidationError(
                f"row {number} of the file has {len(row)} cells, and its header "
                f"{len(names)}: {file}",
                code="input_invalid",
                hint=f"the delimiter of its header is {delimiter!r}",
            )
    columns: dict[str, list[Any]] = {}
    for at, name in enumerate(names):
        columns[_free(name or "column", columns)] = _column([row[at] for row in cells], delimiter)
    return columns


def _rows(file: Path) -> tuple[list[list[str]], str]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            header = lines.readline()
            lines.seek(0)
            delimiter = "\t" if file.suffix.lower() == ".tsv" else _delimiter(header)
            return list(csv.reader(lines, delimiter=delimiter, strict=True)), delimiter
    except UnicodeDecodeError as error:
        raise ValidationError(
            f"the file of a table is not UTF-8: {file}",
            code="input_invalid",
            hint="save it as UTF-8, or read it with pandas and pass `frames=`",
        ) from error
    except (OSError, csv.Error) as error:
        raise ValidationError(
            f"the file of a table cannot be read: {file}: {error}", code="input_invalid"
        ) from error


def _delimiter(header: str) -> str:
    """The most frequent one outside of quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


def _free(name: str, taken: Iterable[str]) -> str:
    known, number, free = {one.lower() for one in taken}, 2, name
    while free.lower() in known:
        free, number = f"{name}_{number}", number + 1
    return free


def _column(cells: list[str], delimiter: str) -> list[Any]:
    """The cells as numbers, dates or times, if all that are there are such; else as texts."""
    present = [cell for cell in map(str.strip, cells) if cell.lower() not in _MISSING]
    plain = _plain(present, delimiter) if present else None
    if plain is None:
        return _times(cells, present) or [cell or None for cell in cells]
    kind = int if all(map(_WHOLE.fullmatch, plain)) else float
    numbers = iter(plain)
    missing = (cell.strip().lower() in _MISSING for cell in cells)
    return [None if is_missing else kind(next(numbers)) for is_missing in missing]


def _times(cells: list[str], present: list[str]) -> list[Any] | None:
    """The cells as dates, as times, or as both, if all that are there are such in ISO 8601."""
    for form, kind in _ISO_FORMS:
        if not present or not all(map(form.fullmatch, present)):
            continue
        try:
            times = iter([kind.fromisoformat(cell) for cell in present])
        except ValueError:
            return None
        return [None if cell.strip().lower() in _MISSING else next(times) for cell in cells]
    return None


def _plain(cells: list[str], delimiter: str) -> list[str] | None:
    """Numbers as Python spells them."""
    if any(map(_CODE.fullmatch, cells)):
        return None
    if all(map(_PLAIN.fullmatch, cells)):
        return cells
    if all(_PLAIN.fullmatch(cell) or _GROUPED.fullmatch(cell) for cell in cells):
        return [cell.replace(",", "") for cell in cells]
    is_comma = delimiter != "," and all(
        _WHOLE.fullmatch(cell) or _DECIMAL_COMMA.fullmatch(cell) for cell in cells
    )
    return [cell.replace(".", "").replace(",", ".") for cell in cells] if is_comma else None
