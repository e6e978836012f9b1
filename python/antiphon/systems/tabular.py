"""Rows that a data analyst has found."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Self, overload

from antiphon._html import CELL, SMALL, escaped, plain
from antiphon.sandbox import SandboxTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TabularResult"]

_MOST_DECODED = 1_000
"""Rows of an Arrow table that are read as `TabularResult.rows`."""
_MOST_SHOWN = 20
_LONGEST_CELL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TabularResult:
    """A table. It displays itself in notebooks.

    Iteration and indexes give `rows`, while ``len`` is `row_count`.

    Attributes:
        columns: the names of the columns.
        rows: the rows, each a dict by column; at most the first 1,000 of a table that code has
            made, which `to_pandas` and `to_polars` return whole.
        row_count: how many rows were read.
        truncated: whether the source has more rows, which the limit of a query has left out.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    row_count: int
    truncated: bool = False
    _ipc: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The table as the engine has it, in Python's own types."""
        arrow = native.get("arrow")
        if arrow is None:
            return cls(
                columns=tuple(native["columns"]),
                rows=tuple(native["rows"]),
                row_count=native["row_count"],
                truncated=native["truncated"],
            )
        ipc = b64decode(arrow)
        read = SandboxTable(ipc).first(_MOST_DECODED)
        names, rows, count = ([], [], 0) if read is None else read
        decoded = tuple(dict(zip(names, map(plain, row), strict=True)) for row in rows)
        return cls(columns=tuple(names), rows=decoded, row_count=count, _ipc=ipc)

    def to_pandas(self) -> Any:
        """Return the table as a pandas ``DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        if self._ipc is not None:
            return SandboxTable(self._ipc).to_pandas()
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def to_polars(self) -> Any:
        """Return the table as a polars ``DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
        """
        if self._ipc is not None:
            return SandboxTable(self._ipc).to_polars()
        import polars as pl

        cells = {name: [row[name] for row in self.rows] for name in self.columns}
        return pl.DataFrame(cells, strict=False)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "columns": list(self.columns),
            "rows": [dict(row) for row in self.rows],
            "row_count": self.row_count,
            "truncated": self.truncated,
        }

    def __len__(self) -> int:
        return self.row_count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[dict[str, Any], ...]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | tuple[dict[str, Any], ...]:
        return self.rows[index]

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
        count = f"{self.row_count:,} rows"
        more = f"the first {count}; there are more" if self.truncated else count
        table = f'<table style="font-size:13px"><tr>{head}</tr>{body}</table>'
        return f'{table}<div style="{SMALL}">{more}</div>'
