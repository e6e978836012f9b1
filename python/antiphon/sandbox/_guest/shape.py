"""Limits of array shapes: a shape of a few bytes can describe any number of rows and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 1_000
"""Most items of an array that numpy prints in full."""
_SIDE = 6
"""Longest side that numpy prints in full in a larger array."""


class ShapeAllowance:
    """The number of parts that arrays may have beyond their bytes.

    Args:
        parts: for all arrays together.
    """

    def __init__(self, parts: int) -> None:
        self._left = parts

    def take(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape fits; if so, it is counted."""
        parts = unpaid_parts(shape)
        if parts > self._left:
            return False
        self._left -= parts
        return True


def unpaid_parts(shape: Sequence[int]) -> int:
    """Return the number of lists, rows or printed items of an array beyond two per item.

    Two lists per item are accounted for by its bytes.

    Example:
        >>> unpaid_parts((1000, 2)), unpaid_parts((5, 0)), unpaid_parts((2,) * 16)
        (12, 6, 65536)
    """
    items = math.prod(shape)
    lists = sum(math.prod(shape[:place]) for place in range(len(shape)))
    # An array without items may have rows along another axis.
    rows = 0 if items else math.prod(side for side in shape if side)
    printed = math.prod(min(side, _SIDE) for side in shape) if items > _SHOWN else 0
    return max(0, lists - 2 * items, rows, printed)
