"""How much of a value may leave the worker, and the error for more."""

from __future__ import annotations

from json import JSONEncoder
from typing import Any

DIGITS = 4_300
"""Longest integer in decimal digits; Python itself refuses to write longer ones."""

_written = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class TooLarge(Exception):
    """A value, or a part of it, is past its budget."""


class Budget:
    """What is left for one value.

    Args:
        bytes: of JSON as UTF-8 text.
        nodes: values inside values, itself included; keys that are plain JSON do not count.
        depth: containers inside containers.
    """

    def __init__(self, *, bytes: int, nodes: int, depth: int) -> None:  # noqa: A002 - its unit
        self.bytes = bytes
        self.nodes = nodes
        self.depth = depth
        self._left = bytes
        self._nodes_left = nodes

    def take(self, size: int, nodes: int = 1) -> None:
        """Takes values off what is left.

        Args:
            size: bytes of text that they need at least.
            nodes: how many they are.

        Raises:
            TooLarge: nothing is left.
        """
        self._nodes_left -= nodes
        self._left -= size
        if self._nodes_left < 0:
            raise TooLarge(f"it has more than {self.nodes} parts")
        if self._left < 0:
            raise TooLarge(f"it needs more than {self.bytes} bytes")

    def enter(self, depth: int) -> int:
        """The number of containers around what is inside one that has `depth` around itself.

        Raises:
            TooLarge: those are too many.
        """
        if depth >= self.depth:
            raise TooLarge(f"it is nested more than {self.depth} deep, or contains itself")
        return depth + 1

    def room_for(self, items: int) -> None:
        """Refuses a container that is too long at once, before its items are visited."""
        if items > self._nodes_left:
            raise TooLarge(f"it has more than {self.nodes} parts")

    def text_of(self, tagged: Any) -> str:
        """The value as JSON text, measured exactly.

        Raises:
            TooLarge: it has more bytes than the budget.
        """
        text = _written(tagged)
        size = len(text) if text.isascii() else len(text.encode())
        if size > self.bytes:
            raise TooLarge(f"it needs more than {self.bytes} bytes")
        return text
