"""Size limits of values that leave the worker.

A shape of a few bytes can describe any number of rows and lists, so that arrays have a limit of
their own.
"""

from __future__ import annotations

import math
from json import JSONEncoder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 4_300
"""Most decimal digits of an integer; Python's own limit for conversion to text."""

_SHOWN, _SIDE = 1_000, 6
"""Most items of an array that numpy prints in full, and the longest side in a larger one."""

_written = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class TooLarge(Exception):
    """A value, or a part of it, exceeds its budget."""


class Budget:
    """The remaining budget of one value.

    Args:
        bytes: of JSON as UTF-8 text.
        nodes: nested values, including the outermost; plain JSON keys do not count.
        depth: nested containers.
    """

    def __init__(self, *, bytes: int, nodes: int, depth: int) -> None:  # noqa: A002 - its unit
        self.bytes = bytes
        self.nodes = nodes
        self.depth = depth
        self._left = bytes
        self._nodes_left = nodes

    def take(self, size: int, nodes: int = 1) -> None:
        """Use a part of the budget; `size` is a lower bound of the bytes of text.

        Raises:
            TooLarge: the budget is exhausted.
        """
        self._nodes_left -= nodes
        self._left -= size
        if self._nodes_left < 0:
            raise TooLarge(f"it has more than {self.nodes} parts")
        if self._left < 0:
            raise TooLarge(f"it needs more than {self.bytes} bytes")

    def enter(self, depth: int) -> int:
        """Return the depth of the items of a container at `depth`, or raise `TooLarge`."""
        if depth >= self.depth:
            raise TooLarge(f"it is nested more than {self.depth} deep, or contains itself")
        return depth + 1

    def room_for(self, items: int) -> None:
        """Refuse a container that is too long, before its items are visited."""
        if items > self._nodes_left:
            raise TooLarge(f"it has more than {self.nodes} parts")

    def text_of(self, tagged: Any) -> str:
        """Encode the value as JSON text, and check its exact size."""
        text = _written(tagged)
        size = len(text) if text.isascii() else len(text.encode())
        if size > self.bytes:
            raise TooLarge(f"it needs more than {self.bytes} bytes")
        return text


class ShapeAllowance:
    """The number of parts that all arrays together may have beyond their bytes."""

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
