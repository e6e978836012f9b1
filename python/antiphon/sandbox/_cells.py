"""Cells of a table as Python's own values, also those that Python has no value for.

Arrow counts days and fractions of a second in whole numbers, and foreign code may write any: the
year 300000 is a date there, and none here. Such a cell is an inert `Opaque` with its number.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from antiphon.sandbox._guest.decode import Opaque

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arrow_cells", "polars_cells"]

_UNITS = {"ms": timedelta(milliseconds=1), "us": timedelta(microseconds=1)}
_SIGN = 4
"""Bytes of the longest sign."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - such counts have no zone


def arrow_cells(column: Any, longest: int | None = None) -> list[Any]:
    """The cells of a ``pyarrow.ChunkedArray``; of texts and bytes at most `longest` of each."""
    if longest is not None and (kind := _spans(column.type)) is not None:
        return [_head(scalar, kind, longest) for scalar in column]
    try:
        return list(column.to_pylist())
    except _UNREADABLE:
        return [_arrow_cell(scalar) for scalar in column]


def _spans(kind: Any) -> type | None:
    """What the cells of a column are whose length nothing bounds."""
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    return bytes if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _head(scalar: Any, kind: type, longest: int) -> Any:
    """The first signs of a cell, which are copied alone."""
    if not scalar.is_valid:
        return None
    most = longest if kind is bytes else _SIGN * longest
    buffer = scalar.as_buffer()
    head = buffer.slice(0, min(most, buffer.size)).to_pybytes()
    return head if kind is bytes else head.decode("utf-8", "ignore")[:longest]


def polars_cells(column: Any, longest: int | None = None) -> Sequence[Any]:
    """The cells of a ``polars.Series``, which panics at a cell that Python has no value for.

    Of texts and bytes at most `longest` of each.
    """
    import polars as pl

    if longest is not None and column.dtype in (pl.String, pl.Binary):
        spans = column.str if column.dtype == pl.String else column.bin
        column = spans.slice(0, longest)
    bounds = _bounds(column.dtype)
    if bounds is None:
        return list(column)
    low, high = bounds
    counts = column.to_physical()
    if low <= (counts.min() or 0) and (counts.max() or 0) <= high:
        return list(column)
    kind, cells = str(column.dtype), enumerate(counts)
    return [
        column[at] if count is None or low <= count <= high else Opaque(kind, str(count))
        for at, count in cells
    ]


_UNREADABLE = (ArithmeticError, LookupError, ValueError)
"""What pyarrow raises for a cell, or a time zone, that Python does not know."""


def _arrow_cell(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except _UNREADABLE:
        return Opaque(str(scalar.type), str(scalar.value))


def _bounds(kind: Any) -> tuple[int, int] | None:
    """The counts between which Python has a value; none if it has one for each."""
    import polars as pl

    if kind == pl.Date:
        return date.min.toordinal() - _EPOCH.toordinal(), date.max.toordinal() - _EPOCH.toordinal()
    if kind not in (pl.Datetime, pl.Duration) or kind.time_unit == "ns":
        return None  # 64 bits of nanoseconds are some 292 years
    unit = _UNITS[kind.time_unit]
    if kind == pl.Duration:
        return timedelta.min // unit, timedelta.max // unit
    # The clock of a zone may be a day before or after.
    margin = timedelta(days=1 if kind.time_zone else 0)
    low, high = datetime.min + margin, datetime.max - margin  # noqa: DTZ901 - as `_EPOCH`
    return -((_EPOCH - low) // unit), (high - _EPOCH) // unit
