"""Tables on their way into a sandbox and out of it, as Arrow IPC streams.

Arrow counts days and fractions of a second in integers, and untrusted code may write any: the
year 300000 is a date there, and none in Python. Such a cell is an `Opaque` with its number.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._text import escape_controls
from antiphon.errors import ValidationError
from antiphon.sandbox._guest.decode import Opaque
from antiphon.sandbox._guest.table import to_pandas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["SandboxTable", "is_tabular", "table_bytes"]

_NAMES, _NAME = 20, 80
"""Columns that a table's `repr` names, and characters of each name."""

_UNITS = {"ms": timedelta(milliseconds=1), "us": timedelta(microseconds=1)}
_CHARACTER = 4
"""Bytes of the longest character."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - such counts have no zone
_HINT = "install pyarrow or polars beside antiphon: pip install pyarrow"


@dataclass(frozen=True, slots=True, repr=False)
class SandboxTable:
    """A table returned by a sandbox.

    It holds an Arrow IPC stream, which is decoded on request. It implements Arrow's C stream
    interface: ``pandas.DataFrame.from_arrow(table)``, ``polars.DataFrame(table)`` and
    ``pyarrow.table(table)`` accept it.

    Attributes:
        ipc: the table as an Arrow IPC stream, which the engine has validated.
    """

    ipc: bytes

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
        """
        import pyarrow as pa

        with pa.ipc.open_stream(self.ipc) as reader:
            return reader.read_all()

    def to_pandas(self) -> Any:
        """Return the table as a pandas ``DataFrame``; a labelled index is its first columns.

        Whole numbers of which some are missing are floats, as pandas has them; with one beyond
        2^53, which a float would round, they are ``Int64``.

        Raises:
            ModuleNotFoundError: pandas or pyarrow is not installed.
            ValidationError: pandas cannot represent it, for instance a time zone that it does
                not know (``sandbox_table_unreadable``).
        """
        table = self.to_arrow()
        try:
            return to_pandas(table)
        except (ArithmeticError, LookupError, ValueError) as error:
            raise _unreadable("pandas", error) from error

    def to_polars(self) -> Any:
        """Return the table as a polars ``DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
            ValidationError: polars cannot represent it, for instance a time zone that it does
                not know, or two columns of one name (``sandbox_table_unreadable``).
        """
        import polars as pl

        try:
            return pl.read_ipc_stream(io.BytesIO(self.ipc))
        # It panics at an unknown time zone; a panic is a BaseException.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _unreadable("polars", error) from error

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the table as lists by column; a cell that Python cannot represent is an `Opaque`.

        Raises:
            ModuleNotFoundError: neither pyarrow nor polars is installed, or only polars, which
                cannot read the table.
        """
        read = self.first(2**62)
        if read is None:
            raise ModuleNotFoundError(f"a table cannot be read: {_HINT}")
        names, rows, _ = read
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def first(
        self, rows: int, *, columns: int | None = None, longest: int | None = None
    ) -> tuple[list[str], list[Sequence[Any]], int] | None:
        """Return the names of the columns, the first rows, and the number of rows.

        Args:
            rows: most rows to read.
            columns: most columns whose cells are read. Default: all.
            longest: most characters or bytes to read of a cell. Default: all.

        Returns:
            ``None`` if neither pyarrow nor polars is installed. A cell that Python cannot
            represent, such as a date in the year 300000, is an `Opaque` with the number in the
            table.
        """
        if find_spec("pyarrow") is not None:
            table = self.to_arrow()
            some = (table.column(at).slice(0, rows) for at in range(table.num_columns)[:columns])
            cells: list[Sequence[Any]] = [_arrow_cells(column, longest) for column in some]
            return table.column_names, list(zip(*cells, strict=True)), table.num_rows
        if find_spec("polars") is not None:
            try:
                frame = self.to_polars()
            except ValidationError:
                return None
            some = frame.head(rows).get_columns()[:columns]
            cells = [_polars_cells(column, longest) for column in some]
            return frame.columns, list(zip(*cells, strict=True)), frame.height
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the size as JSON values: ``bytes``, and ``rows`` and ``columns`` if readable."""
        fields: dict[str, Any] = {"bytes": len(self.ipc)}
        if (read := self.first(0)) is not None:
            fields["columns"], _, fields["rows"] = read
        return fields

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table through Arrow's C stream interface."""
        source = self.to_arrow() if find_spec("pyarrow") is not None else self.to_polars()
        return source.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        read = self.first(0)
        if read is None:
            return f"SandboxTable({len(self.ipc):,} bytes)"
        names = ", ".join(map(_column_label, read[0][:_NAMES]))
        return f"SandboxTable({read[2]} rows x {len(read[0])} columns: {names})"


def _column_label(name: str) -> str:
    return escape_controls(name if len(name) <= _NAME else f"{name[:_NAME]}…")


def is_tabular(value: Any) -> bool:
    """Whether `value` is passed to a sandbox as a table: of pandas, polars or Arrow."""
    if isinstance(value, SandboxTable):
        return True
    # A single column has the same interface, but no columns.
    has_columns = hasattr(value, "columns") or hasattr(value, "schema")
    return hasattr(value, "__arrow_c_stream__") and has_columns and not isinstance(value, type)


def table_bytes(name: str, value: Any) -> bytes:
    """Return a table, for which `is_tabular` is true, as an Arrow IPC stream.

    Raises:
        ValidationError: no installed library can write it, or Arrow has no type for a column
            (``sandbox_table_unwritable``).
    """
    if isinstance(value, SandboxTable):
        return value.ipc
    if type(value).__module__.partition(".")[0] == "polars":
        target = io.BytesIO()
        return _write(name, lambda: (value.write_ipc_stream(target), target.getvalue())[1])
    if find_spec("pyarrow") is None:
        _refuse(name, "neither pyarrow nor polars is installed", _HINT)
    return _write(name, lambda: _arrow_bytes(value))


def _arrow_bytes(value: Any) -> bytes:
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(value)
    target = io.BytesIO()
    with pa.ipc.new_stream(target, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return target.getvalue()


def _write(name: str, write: Callable[[], bytes]) -> bytes:
    try:
        return write()
    except Exception as error:  # noqa: BLE001 - the libraries have no common base class
        _refuse(name, f"{type(error).__name__}: {error}", "give each column one plain type", error)


def _unreadable(library: str, cause: BaseException) -> ValidationError:
    return ValidationError(
        f"{library} cannot read this table: {escape_controls(str(cause))[:500]}",
        code="sandbox_table_unreadable",
        hint="use `to_arrow()`, or `to_columns()` for single cells",
    )


def _refuse(name: str, why: str, hint: str, cause: Exception | None = None) -> NoReturn:
    raise ValidationError(
        f"the table `{name}` cannot be written as Arrow: {why}",
        code="sandbox_table_unwritable",
        details={"name": name},
        hint=hint,
    ) from cause


def _arrow_cells(column: Any, longest: int | None = None) -> list[Any]:
    """Return the cells of a ``pyarrow.ChunkedArray``; of texts and bytes at most `longest`."""
    if longest is not None and (kind := _spans(column.type)) is not None:
        return [_head(scalar, kind, longest) for scalar in column]
    try:
        return list(column.to_pylist())
    except _UNREADABLE:
        return [_arrow_cell(scalar) for scalar in column]


def _spans(kind: Any) -> type | None:
    """Return ``str`` or ``bytes`` if the cells of a column have no fixed size."""
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    return bytes if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _head(scalar: Any, kind: type, longest: int) -> Any:
    """Return the first characters of a cell, without copying the rest."""
    if not scalar.is_valid:
        return None
    most = longest if kind is bytes else _CHARACTER * longest
    buffer = scalar.as_buffer()
    head = buffer.slice(0, min(most, buffer.size)).to_pybytes()
    return head if kind is bytes else head.decode("utf-8", "ignore")[:longest]


def _polars_cells(column: Any, longest: int | None = None) -> Sequence[Any]:
    """Return the cells of a ``polars.Series``; of texts and bytes at most `longest`.

    polars panics at a cell that Python cannot represent, so that the bounds are checked first.
    """
    import polars as pl

    if longest is not None and column.dtype == pl.String:
        column = column.str.slice(0, longest)
    elif longest is not None and column.dtype == pl.Binary:
        return [None if cell is None else cell[:longest] for cell in column]
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
"""Exceptions of pyarrow for a cell or time zone that Python cannot represent."""


def _arrow_cell(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except _UNREADABLE:
        return Opaque(str(scalar.type), str(scalar.value))


def _bounds(kind: Any) -> tuple[int, int] | None:
    """Return the range of counts that Python can represent; ``None`` if it is all of them."""
    import polars as pl

    if kind == pl.Date:
        return date.min.toordinal() - _EPOCH.toordinal(), date.max.toordinal() - _EPOCH.toordinal()
    if kind not in (pl.Datetime, pl.Duration) or kind.time_unit == "ns":
        return None  # 64 bits of nanoseconds are some 292 years
    unit = _UNITS[kind.time_unit]
    if kind == pl.Duration:
        return timedelta.min // unit, timedelta.max // unit
    # Local time may differ by a day.
    margin = timedelta(days=1 if kind.time_zone else 0)
    low, high = datetime.min + margin, datetime.max - margin  # noqa: DTZ901 - as `_EPOCH`
    return -((_EPOCH - low) // unit), (high - _EPOCH) // unit
