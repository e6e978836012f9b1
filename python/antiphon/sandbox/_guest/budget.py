"""Size limits of values that leave the worker."""

from __future__ import annotations

from json import JSONEncoder
from typing import Any

DIGITS = 4_300
"""Most decimal digits of an integer; Python's own limit for conversion to text."""

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
        """Use a part of the budget.

        Args:
            size: a lower bound of the bytes of text.
            nodes: number of values.

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
        """Return the depth of the items of a container at `depth`.

        Raises:
            TooLarge: it is too deep.
        """
        if depth >= self.depth:
            raise TooLarge(f"it is nested more than {self.depth} deep, or contains itself")
        return depth + 1

    def room_for(self, items: int) -> None:
        """Refuse a container that is too long, before its items are visited."""
        if items > self._nodes_left:
            raise TooLarge(f"it has more than {self.nodes} parts")

    def text_of(self, tagged: Any) -> str:
        """Encode the value as JSON text, and check its exact size.

        Raises:
            TooLarge: it exceeds the budget.
        """
        text = _written(tagged)
        size = len(text) if text.isascii() else len(text.encode())
        if size > self.bytes:
            raise TooLarge(f"it needs more than {self.bytes} bytes")
        return text
