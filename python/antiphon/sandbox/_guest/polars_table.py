"""Conversion of polars frames; polars reads and writes Arrow itself."""

from __future__ import annotations

import io
import sys
from typing import Any

from .safe_repr import safe_str

_CELL = 4_000


def is_frame(value: Any) -> bool:
    """Whether `value` is a data frame or series of polars."""
    polars = sys.modules.get("polars")
    return polars is not None and (
        type(value) is getattr(polars, "DataFrame", None)
        or type(value) is getattr(polars, "Series", None)
    )


def read(stream: bytes) -> Any:
    """Decode an Arrow IPC stream to a `polars.DataFrame`."""
    import polars as pl

    return pl.read_ipc_stream(io.BytesIO(stream))


def write(frame: Any, limit: int) -> tuple[int, int, memoryview]:
    """Encode a frame or series as an Arrow IPC stream of plain columns.

    Args:
        frame: for which `is_frame` is true.
        limit: most bytes.

    Returns:
        The numbers of rows and columns, and the stream.

    Raises:
        OverflowError: it exceeds the limit.
    """
    import polars as pl

    if type(frame) is pl.Series:
        frame = frame.to_frame(frame.name or "value")
    if frame.estimated_size() > 8 * limit:
        raise OverflowError
    columns = [_plain(pl, column) for column in frame.get_columns()]
    # One batch: the host limits their number.
    frame = pl.DataFrame(columns).rechunk()
    sink = io.BytesIO()
    # The host does not support newer layouts.
    frame.write_ipc_stream(sink, compat_level=pl.CompatLevel.oldest())
    stream = sink.getbuffer()
    if len(stream) > limit:
        raise OverflowError
    return frame.height, frame.width, stream


def _plain(pl: Any, column: Any) -> Any:
    kind = column.dtype
    if kind.is_numeric() or kind.is_temporal() or kind in {pl.Boolean, pl.String, pl.Binary}:
        wide = kind in {getattr(pl, name, None) for name in ("Int128", "UInt128", "Float16")}
        return column.cast(pl.String) if wide else column
    if kind in {pl.Categorical, pl.Enum, pl.Null}:
        return column.cast(pl.String)
    texts = [None if cell is None else safe_str(cell, _CELL) for cell in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)
