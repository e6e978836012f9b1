"""Conversion of data frames from and to Arrow IPC streams."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from .budget import TooLarge
from .safe_repr import safe_str

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAME = 200
_LABEL = 4_000
"""Most characters of a column's name, and of a cell that becomes text."""
_COUNT = 10
"""Characters of these for a number that makes it unique."""
_COLUMNS, _NAMES = 16_384, 2**20
"""The host's limits: columns of a table, and bytes of all their names."""
_PLAIN = (
    *("boolean", "integer", "floating", "decimal128", "string", "large_string"),
    *("binary", "large_binary", "date", "time", "timestamp", "duration"),
)
"""Arrow types that are sent as they are; cells of others become text."""
_EXACT = 2**53
"""The first whole number whose successor is no floating-point number."""
_ROWS = 10_000
"""Most rows of a table that is sent without Arrow."""


class Table(NamedTuple):
    """An encoded table."""

    rows: int
    columns: int
    stream: bytes | memoryview


def read_table(stream: bytes) -> Any:
    """Decode an Arrow IPC stream of the host for user code.

    It becomes a `polars.DataFrame` if polars is loaded, unless pandas wrote it and is loaded too;
    a `pandas.DataFrame` if pandas is loaded; otherwise a dict of lists.
    """
    pandas = sys.modules.get("pandas")
    if "polars" in sys.modules and not (pandas is not None and _is_of_pandas(stream)):
        import polars as pl

        return pl.read_ipc_stream(io.BytesIO(stream))
    table = _open(stream).read_all()
    if pandas is None:
        return {name: table.column(at).to_pylist() for at, name in enumerate(table.column_names)}
    return to_pandas(table, use_threads=False)


def to_pandas(table: Any, **options: Any) -> Any:
    """Convert a table of Arrow to a data frame that has every digit of its whole numbers.

    pandas makes floats of whole numbers of which some are missing. A column that would lose digits
    so becomes one of `Int64`, or `UInt64`.
    """
    frame = table.to_pandas(**options)
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if not column.null_count or str(column.type) not in {"int64", "uint64"}:
            continue
        # An index comes last.
        is_here = at < frame.shape[1] and str(frame.columns[at]) == name
        if (
            is_here
            and frame.dtypes.iloc[at].kind == "f"
            and frame.iloc[:, at].abs().max() >= _EXACT
        ):
            frame.isetitem(at, _nullable(column))
    return frame


def _nullable(column: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    kinds = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    return column.to_pandas(types_mapper=kinds.get).array


def write_table(frame: Any, limit: int) -> Table:
    """Encode a data frame or series as a table without index.

    An index other than a range becomes the first columns. Columns without a plain Arrow type
    become text.

    Raises:
        OverflowError: it has more than `limit` bytes.
        TooLarge: it has too many columns, or too long names.
        ImportError: pyarrow is not available.
    """
    if is_polars(frame):
        _check_names(getattr(frame, "columns", ()))
        return _write_polars(frame, limit)
    import pyarrow as pa

    frame = flat(frame)
    if int(frame.memory_usage(index=False).sum()) > 8 * limit:
        raise OverflowError
    names = column_names(frame.columns)
    columns = [_column(pa, frame.iloc[:, at]) for at in range(frame.shape[1])]
    table = pa.Table.from_arrays(columns, names=names).combine_chunks()
    if table.nbytes > limit:
        raise OverflowError
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(use_threads=False)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    stream = memoryview(sink.getvalue())
    if len(stream) > limit:
        raise OverflowError
    return Table(table.num_rows, table.num_columns, stream)


def as_columns(frame: Any) -> dict[str, list[Any]] | None:
    """Convert a data frame or series to lists by column; None if it is too long for that."""
    frame = flat(frame)
    if len(frame) > _ROWS:
        return None
    names = column_names(frame.columns)
    return {name: frame.iloc[:, at].tolist() for at, name in enumerate(names)}


def flat(frame: Any) -> Any:
    """Return the frame with its index as columns."""
    import pandas as pd

    if type(frame) is pd.Series:
        frame = frame.to_frame("value" if frame.name is None else frame.name)
    if type(frame.index) is pd.RangeIndex and frame.index.equals(pd.RangeIndex(len(frame))):
        return frame
    return frame.reset_index(allow_duplicates=True)


def column_names(labels: Iterable[Any]) -> list[str]:
    """Convert labels to unique texts; raise `TooLarge` if they are too many or too long."""
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        parts = label if type(label) is tuple else (label,)
        joined = "_".join(text for text in (safe_str(part, _NAME) for part in parts) if text)
        stem = name = joined[: _LABEL - _COUNT]
        count = 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name)
        names.append(name)
    _check_names(names)
    return names


def _check_names(names: Sequence[str]) -> None:
    longest = max(map(len, names), default=0)
    if len(names) > _COLUMNS or longest > _LABEL or sum(len(n.encode()) for n in names) > _NAMES:
        raise TooLarge(f"it has more than {_COLUMNS} columns, or more than {_NAMES} bytes of names")


def _open(stream: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(stream)


def _is_of_pandas(stream: bytes) -> bool:
    """Whether the stream's metadata names pandas; false without pyarrow."""
    try:
        return b"pandas" in (_open(stream).schema.metadata or {})
    except ImportError:
        return False


def _column(pa: Any, series: Any) -> Any:
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _texts(pa, series)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    return column if _is_plain(pa, kind) else _texts(pa, series)


def _texts(pa: Any, series: Any) -> Any:
    missing = series.isna()
    texts = [
        None if gone else safe_str(item, _LABEL) for item, gone in zip(series, missing, strict=True)
    ]
    return pa.array(texts, type=pa.large_string())


def _is_plain(pa: Any, kind: Any) -> bool:
    return any(getattr(pa.types, f"is_{name}")(kind) for name in _PLAIN)


def is_polars(value: Any) -> bool:
    """Whether `value` is a data frame or series of polars."""
    polars = sys.modules.get("polars")
    return polars is not None and (
        type(value) is getattr(polars, "DataFrame", None)
        or type(value) is getattr(polars, "Series", None)
    )


def _write_polars(frame: Any, limit: int) -> Table:
    import polars as pl

    if type(frame) is pl.Series:
        frame = frame.to_frame(frame.name or "value")
    if frame.estimated_size() > 8 * limit:
        raise OverflowError
    columns = [_plain_polars(pl, column) for column in frame.get_columns()]
    # One batch: the host limits their number.
    frame = pl.DataFrame(columns).rechunk()
    sink = io.BytesIO()
    # The host does not support newer layouts.
    frame.write_ipc_stream(sink, compat_level=pl.CompatLevel.oldest())
    stream = sink.getbuffer()
    if len(stream) > limit:
        raise OverflowError
    return Table(frame.height, frame.width, stream)


def _plain_polars(pl: Any, column: Any) -> Any:
    kind = column.dtype
    if kind.is_numeric() or kind.is_temporal() or kind in {pl.Boolean, pl.String, pl.Binary}:
        wide = kind in {getattr(pl, name, None) for name in ("Int128", "UInt128", "Float16")}
        return column.cast(pl.String) if wide else column
    if kind in {pl.Categorical, pl.Enum, pl.Null}:
        return column.cast(pl.String)
    texts = [None if cell is None else safe_str(cell, _LABEL) for cell in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)
