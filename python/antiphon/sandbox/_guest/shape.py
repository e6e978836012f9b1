"""How far arrays unfold: a shape of a few bytes may stand for any number of rows and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 1_000
"""Items up to which numpy prints an array in full."""
_SIDE = 6
"""Longest side that it prints in full in a larger one."""


class ShapeAllowance:
    """What arrays may unfold to beyond what their own bytes pay for.

    Args:
        parts: for all arrays together.
    """

    def __init__(self, parts: int) -> None:
        self._left = parts

    def take(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape may still come; it is counted if so."""
        parts = unpaid_parts(shape)
        if parts > self._left:
            return False
        self._left -= parts
        return True


def unpaid_parts(shape: Sequence[int]) -> int:
    """The most lists, rows or printed items that an array of this shape makes beyond its own.

    Two lists for each item are paid for by its bytes.

    Example:
        >>> unpaid_parts((1000, 2)), unpaid_parts((5, 0)), unpaid_parts((2,) * 16)
        (12, 6, 65536)
    """
    items = math.prod(shape)
    lists = sum(math.prod(shape[:place]) for place in range(len(shape)))
    # Along another axis an array without items has other rows.
    rows = 0 if items else math.prod(side for side in shape if side)
    printed = math.prod(min(side, _SIDE) for side in shape) if items > _SHOWN else 0
    return max(0, lists - 2 * items, rows, printed)
