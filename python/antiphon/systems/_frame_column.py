"""Columns of data frames: their types in SQLite, and their cells as it stores them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["FrameColumn"]

_EXACT = 2**53
"""The largest number up to which every whole number is a floating-point number."""
_LEAST, _MOST = -(2**63), 2**63 - 1
_BYTES = 8
"""Bytes of these integers."""

_OF_NUMPY = {"b": "BOOLEAN", "i": "INTEGER", "f": "REAL", "m": "REAL"}
"""Types by the `kind` of the dtypes of numpy and pandas."""
_OF_POLARS = {
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"), "INTEGER"),
    **dict.fromkeys(("Float32", "Float64", "Duration"), "REAL"),
    **dict.fromkeys(("String", "Categorical", "Enum"), "TEXT"),
    "Boolean": "BOOLEAN",
    "Date": "DATE",
    "Time": "TIME",
    "Binary": "BLOB",
}
_WHOLE = {"INTEGER", "BOOLEAN"}
_NUMBERS = {*_WHOLE, "REAL", "DURATION", "DECIMAL"}


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column.

    Attributes:
        name: its name.
        cells: its cells, which can be read several times.
        dtype: the type that the frame gives it, if any.
    """

    name: str
    cells: Iterable[Any]
    dtype: Any = None

    def declared(self) -> str:
        """Its type in SQLite, by which results have dates and times again.

        Without a dtype that tells, all cells do.
        """
        return _of_dtype(self.dtype) or _of_cells(self.cells)

    def stored(self, declared: str) -> Iterator[Any]:
        """The cells as SQLite stores them in a column of this type."""
        writers: dict[type, Callable[[Any], Any]] = {}
        for cell in self.cells:
            kind = type(cell)
            writer = writers.get(kind)
            if writer is None:
                writer = writers[kind] = _writer(kind, declared)
            yield writer(cell)

    def is_storable(self) -> bool:
        """Whether each cell has a form that SQLite stores; to be asked after a failure."""
        try:
            for cell in self.stored(self.declared()):
                if isinstance(cell, str):
                    cell.encode()
        except (OverflowError, RecursionError, ValueError):
            return False
        return True


def _of_dtype(dtype: Any) -> str | None:
    """The type in SQLite of a column of this dtype; none if only its cells tell."""
    name, kind = type(dtype).__name__, getattr(dtype, "kind", None)
    if str(dtype) == "datetime64[D]":
        return "DATE"
    if kind == "M" and name != "ArrowDtype":
        return "TIMESTAMPTZ" if getattr(dtype, "tz", None) is not None else "DATETIME"
    if kind == "u":
        return "INTEGER" if getattr(dtype, "itemsize", _BYTES) < _BYTES else None
    if kind is not None:
        return "TEXT" if name == "StringDtype" else _OF_NUMPY.get(kind)
    if name == "Datetime":
        return "DATETIME" if dtype.time_zone is None else "TIMESTAMPTZ"
    return _OF_POLARS.get(name)


def _of_cells(cells: Iterable[Any]) -> str:
    forms = {kind: _form(kind) for kind in set(map(type, cells))}
    found = {form for form in forms.values() if form}
    if "REAL" in found and len(found) > 1:
        floats = (value for value in cells if forms[type(value)] == "REAL")
        if not any(map(math.isfinite, floats)):
            # NaN stands for what is missing in any column of pandas.
            found.remove("REAL")
    if found and found <= _NUMBERS:
        return _of_numbers(found, (value for value in cells if forms[type(value)] in found))
    if found == {"DATETIME"}:
        zones = {_is_zoned(value) for value in cells if forms[type(value)]}
        return "TEXT" if len(zones) > 1 else "TIMESTAMPTZ" if zones == {True} else "DATETIME"
    if found == {"TIME"} and any(_is_zoned(value) for value in cells if forms[type(value)]):
        return "TEXT"
    return found.pop() if len(found) == 1 else "TEXT"


def _form(kind: type) -> str:
    """What cells of a Python type are; nothing for those that stand for missing ones."""
    names = [one.__name__ for one in kind.__mro__]
    if kind is type(None) or names[0] in {"NaTType", "NAType"}:
        return ""
    # A duration of numpy is one of its integers too.
    of_numpy = {"timedelta64": "DURATION", "datetime64": "DATETIME", "bool": "BOOLEAN"}
    of_numpy |= {"bool_": "BOOLEAN", "integer": "INTEGER", "floating": "REAL"}
    if kind.__module__ == "numpy" and (known := [name for name in of_numpy if name in names]):
        return of_numpy[known[0]]
    for known_kind, form in _FORMS:
        if issubclass(kind, known_kind):
            return form
    return "TEXT"


_FORMS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "BOOLEAN"),
    (int, "INTEGER"),
    (float, "REAL"),
    (Decimal, "DECIMAL"),
    (datetime, "DATETIME"),
    (date, "DATE"),
    (time, "TIME"),
    (timedelta, "DURATION"),
    ((bytes, bytearray, memoryview), "BLOB"),
)


def _of_numbers(found: set[str], values: Iterable[Any]) -> str:
    if found == {"BOOLEAN"}:
        return "BOOLEAN"
    if found <= _WHOLE:
        return "INTEGER" if all(_LEAST <= value <= _MOST for value in values) else "TEXT"
    if not found <= {*_WHOLE, "DECIMAL"}:
        return "REAL"
    # Whole decimals that a float would round are numbers of things, such as ids of 18 digits.
    finite = [value for value in map(Decimal, map(_plain, values)) if value.is_finite()]
    has_fraction = any(int(value.as_tuple().exponent) < 0 for value in finite)
    if has_fraction or all(abs(value) <= _EXACT for value in finite):
        return "REAL"
    return "INTEGER" if all(_LEAST <= value <= _MOST for value in finite) else "TEXT"


def _is_zoned(value: Any) -> bool:
    return getattr(value, "tzinfo", None) is not None


def _writer(kind: type, declared: str) -> Callable[[Any], Any]:
    """How SQLite stores cells of a Python type in a column.

    Dates are ISO texts, durations seconds, lists and dicts JSON. A decimal is a float: as a text
    it would be compared letter by letter, and as an integer a division would cut it.
    """
    form = _form(kind)
    if form == "DECIMAL":
        write = {"INTEGER": int, "TEXT": str}.get(declared, float)
        return lambda value: write(value) if value.is_finite() else None
    if form == "TEXT":
        return _as_is if issubclass(kind, str) else lambda value: _other(value, declared)
    writer = _WRITERS[form]
    if declared != "TEXT" or form not in _NUMBERS:
        return writer
    # SQLite would round a float to 15 digits.
    return lambda value: None if (cell := writer(value)) is None else str(cell)


def _as_is(value: Any) -> Any:
    return value


def _whole(value: Any) -> int | str:
    whole = int(value)
    return whole if _LEAST <= whole <= _MOST else str(whole)


def _float(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _date_time(value: Any) -> str | None:
    plain = _plain(value)
    if isinstance(plain, datetime):
        return plain.isoformat(" ")
    # Of an instant beyond the years of Python, numpy makes an integer.
    return str(value) if isinstance(plain, int) else plain and plain.isoformat()


def _seconds(value: Any) -> float | None:
    plain = _plain(value)
    return None if plain is None else plain.total_seconds()


_WRITERS: dict[str, Callable[[Any], Any]] = {
    "": lambda _: None,
    "BOOLEAN": int,
    "INTEGER": _whole,
    "REAL": _float,
    "DATETIME": _date_time,
    "DATE": lambda value: value.isoformat(),
    "TIME": lambda value: value.isoformat(),
    "DURATION": _seconds,
    "BLOB": _as_is,
}


def _other(value: Any, declared: str) -> Any:
    plain = _plain(value)
    if isinstance(plain, list | dict):
        return json.dumps(_json(plain), ensure_ascii=False)
    return str(plain) if plain is value else _writer(type(plain), declared)(plain)


def _plain(value: Any) -> Any:
    """A scalar or array of numpy, or a column in a cell, as Python has it."""
    if isinstance(value, tuple):
        return list(value)
    if type(value).__name__ in {"datetime64", "timedelta64"}:
        plain = value.item()
        # Python counts microseconds; of nanoseconds numpy makes an integer.
        return value.astype(f"{type(value).__name__}[us]").item() if type(plain) is int else plain
    for name in ("tolist", "to_list"):
        if callable(convert := getattr(value, name, None)):
            return convert()
    return value


def _json(value: Any) -> Any:
    """A value in a list as JSON has it."""
    value = _plain(value)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or type(value).__name__ in {"NaTType", "NAType"}:
        return None
    return value if isinstance(value, bool | int | str) else str(value)
