"""Rows that a data analyst has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self, overload

from antiphon._html import CELL, SMALL, escaped, plain
from antiphon._text import counted
from antiphon.sandbox import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["TabularResult"]

_MOST_DECODED = 1_000
"""Rows of a table that code has returned which are read as `TabularResult.rows`."""
_EXACT = 2**53
"""The largest number up to which every whole number is a floating-point number."""
_MOST_SHOWN = 20
_LONGEST_CELL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TabularResult:
    """A table. It displays itself in notebooks.

    ``len``, iteration and indexes are about all rows; beyond 1,000 they need pyarrow or polars.
    `to_pandas`, `to_polars` and `to_arrow` return all rows, with the types of their columns.

    Attributes:
        columns: the names of the columns.
        rows: the rows, each a dict by column, as JSON values; at most the first 1,000.
        row_count: how many rows were read.
        truncated: whether the source has more rows, which the limit of a query has left out.
        cells_cut: whether long texts or bytes of some cells were cut.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    row_count: int
    truncated: bool = False
    cells_cut: bool = False
    _ipc: bytes | None = field(default=None, repr=False)
    _read: list[tuple[dict[str, Any], ...]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, native: Mapping[str, Any], attachments: Mapping[str, bytes]) -> Self:
        """The table as the engine has it, in Python's own types."""
        arrow = native.get("arrow")
        ipc = None if arrow is None else attachments.get(arrow)
        if ipc is None or native["columns"]:
            return cls(
                columns=tuple(native["columns"]),
                rows=tuple(native["rows"]),
                row_count=native["row_count"],
                truncated=native["truncated"],
                cells_cut=native.get("cells_cut", False),
                _ipc=ipc,
            )
        read = SandboxTable(ipc).first(_MOST_DECODED)
        names, rows, count = ([], [], 0) if read is None else read
        return cls(columns=tuple(names), rows=_decoded(names, rows), row_count=count, _ipc=ipc)

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
        """
        if (columns := self._columns("pyarrow")) is not None:
            return columns.to_arrow()
        import pyarrow as pa

        return pa.table({name: [row[name] for row in self.rows] for name in self.columns})

    def to_pandas(self) -> Any:
        """Return the table as a pandas ``DataFrame``.

        Whole numbers of which some are missing are floats, as pandas has them; with one beyond
        2^53, which a float would round, they are ``Int64``. Times with a zone are in UTC.

        Raises:
            ModuleNotFoundError: pandas is not installed; or pyarrow, without which tables of more
                than 1,000 rows cannot be read, and dates and decimals of others are as in `rows`.
        """
        if (columns := self._columns("pyarrow")) is not None:
            return columns.to_pandas()
        import pandas as pd

        frame = pd.DataFrame(list(self.rows), columns=list(self.columns))
        for name in self.columns:
            if _loses_digits(cells := [row[name] for row in self.rows]):
                frame[name] = pd.array(cells, dtype="Int64")
        return frame

    def to_polars(self) -> Any:
        """Return the table as a polars ``DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
        """
        if (columns := self._columns("polars")) is not None:
            return columns.to_polars()
        import polars as pl

        cells = {name: [row[name] for row in self.rows] for name in self.columns}
        return pl.DataFrame(cells, strict=False)

    def _columns(self, *packages: str) -> SandboxTable | None:
        """The columns; none if `rows` are all there is to read.

        Raises:
            ModuleNotFoundError: none of the packages that read them is installed.
        """
        if self._ipc is None:
            return None
        if any(find_spec(package) is not None for package in packages):
            return SandboxTable(self._ipc)
        package = packages[-1]
        if len(self.rows) == self.row_count:
            return None
        raise ModuleNotFoundError(
            f"a table of {self.row_count:,} rows cannot be read without {package}; install it "
            f"beside antiphon: pip install {package}",
            name=package,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "columns": list(self.columns),
            "rows": [dict(row) for row in self.rows],
            "row_count": self.row_count,
            "truncated": self.truncated,
            "cells_cut": self.cells_cut,
        }

    def __len__(self) -> int:
        return self.row_count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._all_rows())

    def _all_rows(self) -> tuple[dict[str, Any], ...]:
        if len(self.rows) == self.row_count or self._columns("polars", "pyarrow") is None:
            return self.rows
        if not self._read:
            names, rows, _ = SandboxTable(self._ipc or b"").first(self.row_count) or ([], [], 0)
            self._read.append(_decoded(names, rows))
        return self._read[0]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[dict[str, Any], ...]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | tuple[dict[str, Any], ...]:
        return self._all_rows()[index]

    def _repr_html_(self) -> str:
        head = "".join(f"<th {CELL}>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td {CELL}>{escaped(row[name], _LONGEST_CELL)}</td>" for name in self.columns
            )
            + "</tr>"
            for row in self.rows[:_MOST_SHOWN]
        )
        cut = "; long cells were cut" if self.cells_cut else ""
        table = f'<table style="font-size:13px"><tr>{head}</tr>{body}</table>'
        return f'{table}<div style="{SMALL}">{self._extent()}{cut}</div>'

    def _extent(self) -> str:
        """How many rows there are, and how many of them are shown."""
        shown = min(len(self.rows), _MOST_SHOWN)
        is_partial = 0 < shown < self.row_count
        count = counted(self.row_count, "row")
        if self.truncated:
            first = (
                f"{shown} of the first {count} are shown" if is_partial else f"the first {count}"
            )
            return f"{first}; there are more"
        return f"the first {shown} of {count} are shown" if is_partial else count


def _loses_digits(cells: Sequence[Any]) -> bool:
    """Whether floats, which pandas makes of whole numbers with gaps, round one of them."""
    numbers = [cell for cell in cells if cell is not None]
    are_whole = all(type(cell) is int and -(2**63) <= cell < 2**63 for cell in numbers)
    return are_whole and len(numbers) < len(cells) and any(abs(one) > _EXACT for one in numbers)


def _decoded(names: list[str], rows: list[Sequence[Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(names, map(plain, row), strict=True)) for row in rows)
