"""Tables in text files: the delimiter, the types of columns, and the marks of missing values."""

from __future__ import annotations

import csv
import re
import warnings
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon.errors import ValidationError
from antiphon.systems._column_names import distinct_names
from antiphon.systems._number_style import (
    COMMA,
    NumberStyle,
    is_code,
    style_of_delimiter,
    style_of_file,
    styles_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["read_text_table"]

_DELIMITERS = (",", ";", "\t", "|")
_MISSING = {"", "-", "?", "#n/a", "<na>", "n/a", "na", "nan", "none", "null"}
"""Cells that stand for nothing in a column of numbers; elsewhere they are texts."""
_INFINITE = {f"{sign}{name}" for sign in ("", "+", "-") for name in ("inf", "infinity")}
"""Numbers that SQLite does not have, which are missing too."""
_NO_NUMBERS = _MISSING | _INFINITE
_WHOLE = re.compile(r"[+-]?\d+")
_SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
"""The first line by which Excel tells the delimiter."""
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
    names = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if row and len(row) != len(names):
            raise ValidationError(
                f"row {number} of the file has {len(row)} cells, and its header "
                f"{len(names)}: {file}",
                code="input_invalid",
                hint=f"the delimiter of its header is {delimiter!r}",
            )
    cells = [row for row in rows[1:] if row]
    columns = [[row[at] for row in cells] for at in range(len(names))]
    numbers = list(map(_numbers, columns))
    style, is_told = style_of_file((column.styles for column in numbers), delimiter)
    if not is_told or style is not style_of_delimiter(delimiter):
        _warn_of_guesses(file, names, numbers, style, delimiter)
    read = (_column(one, found, style) for one, found in zip(columns, numbers, strict=True))
    return dict(zip(distinct_names(names), read, strict=True))


def _rows(file: Path) -> tuple[list[list[str]], str]:
    line = 1
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            if separator := _SEPARATOR.fullmatch(first.strip("\r\n")):
                line, delimiter = 2, separator[1]
            else:
                delimiter = "\t" if file.suffix.lower() == ".tsv" else _delimiter(first)
                lines.seek(0)
            rows: list[list[str]] = []
            reader, before = csv.reader(lines, delimiter=delimiter, strict=True), line
            for row in reader:
                rows.append(row)
                line = before + reader.line_num
            return rows, delimiter
    except UnicodeDecodeError as error:
        raise ValidationError(
            f"the file of a table is not UTF-8: {file}",
            code="input_invalid",
            hint="save it as UTF-8, or read it with pandas and pass `frames=`",
        ) from error
    except csv.Error as error:
        raise ValidationError(
            f"the row that begins in line {line} of the file cannot be read: {file}: {error}",
            code="input_invalid",
            hint="a quote in a cell is written twice, and the cell is closed with one",
        ) from error
    except OSError as error:
        raise ValidationError(
            f"the file of a table cannot be read: {file}: {error}", code="input_invalid"
        ) from error


def _delimiter(header: str) -> str:
    """The most frequent one outside of quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


class _NumberColumn(NamedTuple):
    """The cells of a column of numbers that are there, and the styles in which they are."""

    cells: Sequence[str] = ()
    styles: Sequence[NumberStyle] = ()


def _numbers(cells: Iterable[str]) -> _NumberColumn:
    """The numbers of a column; none if it has other cells, or if they are codes."""
    present = [cell for cell in map(str.strip, cells) if cell.lower() not in _NO_NUMBERS]
    styles = styles_of(present)
    return _NumberColumn(present, styles) if styles and not is_code(present) else _NumberColumn()


def _warn_of_guesses(
    file: Path,
    names: Sequence[str],
    columns: Iterable[_NumberColumn],
    style: NumberStyle,
    delimiter: str,
) -> None:
    """Names columns that the other style reads as other numbers, where the style is a guess.

    It is one where nothing tells it, or a column tells another than the delimiter.

    Numbers such as `1.234` are what programs write into files without `;`, and `"1,234"` into
    those with commas.
    """
    is_unusual = style is not style_of_delimiter(delimiter)
    marks = ",." if style is COMMA or is_unusual else "," if delimiter != "," else ""
    for name, (cells, styles) in zip(names, columns, strict=True):
        doubtful = next((cell for cell in cells if any(one in cell for one in marks)), None)
        if doubtful is not None and len(styles) > 1:
            warnings.warn(
                f"it is not certain whether numbers of the file have decimal points or commas: "
                f"{file}; of the column `{name}`, {doubtful} is read as {style.plain(doubtful)}",
                stacklevel=6,
            )


def _column(cells: list[str], numbers: _NumberColumn, style: NumberStyle) -> list[Any]:
    """The cells as numbers, dates or times, if all that are there are such; else as texts."""
    if not numbers.styles:
        present = [cell for cell in map(str.strip, cells) if cell.lower() not in _MISSING]
        return _times(cells, present) or [cell or None for cell in cells]
    own = style if style in numbers.styles else numbers.styles[0]
    plain = list(map(own.plain, numbers.cells))
    kind = int if all(map(_WHOLE.fullmatch, plain)) else float
    given = iter(plain)
    missing = (cell.strip().lower() in _NO_NUMBERS for cell in cells)
    return [None if is_missing else kind(next(given)) for is_missing in missing]


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
