"""Data frames as text that a model can read."""

from __future__ import annotations

from typing import Any

ROWS = 50
"""Rows that are shown; the first line says how many there are."""


def is_table(value: Any) -> bool:
    """Whether it looks like a data frame: of pandas, polars or a library like them."""
    shape = getattr(value, "shape", None)
    return (
        isinstance(shape, tuple)
        and not isinstance(value, type)
        and all(hasattr(value, name) for name in ("columns", "head", "to_dict"))
    )


def is_series(value: Any) -> bool:
    """Whether it looks like one column of a data frame."""
    return (
        not isinstance(value, type)
        and all(hasattr(value, name) for name in ("dtype", "shape", "to_frame"))
        and not is_table(value)
    )


def table_text(frame: Any) -> str:
    """The size, the column names and the first rows of a data frame.

    Args:
        frame: what `is_table` or `is_series` accepts. An index other than a plain row count
            becomes the first column.

    Returns:
        Lines of cells separated by `` | ``; cells keep to one line.
    """
    if is_series(frame):
        frame = frame.to_frame()
    rows, columns = frame.shape
    shown = frame.head(ROWS)
    index = getattr(shown, "index", None)
    if index is not None and type(index).__name__ != "RangeIndex":
        shown = shown.reset_index()
    lines = [f"{rows} rows x {columns} columns"]
    lines.append(" | ".join(_cell(name) for name in shown.columns))
    cells = shown.itertuples(index=False) if hasattr(shown, "itertuples") else shown.iter_rows()
    lines += [" | ".join(_cell(value) for value in row) for row in cells]
    if rows > ROWS:
        lines.append(f"... {rows - ROWS} more rows")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
