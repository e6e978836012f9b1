"""Rows of cells, in columns that are as wide as they must be."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from antiphon._command.plain import line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["table"]

_WIDEST = 60
_GAP = "  "


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Lines of cells under their heads; what a terminal would obey is taken out.

    On a terminal the lines are no longer than that is wide.
    """
    shown = [heads, *(tuple(line(cell, _WIDEST) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    if sys.stdout.isatty():
        most = max(shutil.get_terminal_size().columns, 40)
        lines = [one if len(one) <= most else f"{one[: most - 1]}…" for one in lines]
    return "\n".join(lines)
