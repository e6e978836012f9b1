"""Merge rules for ``Annotated`` state keys."""

from __future__ import annotations

from typing import Any

__all__ = ["append"]


def append(old: list[Any], new: Any) -> list[Any]:
    """Adds one element to a list; the engine does it natively.

    Args:
        old: what the key holds.
        new: what a node wrote, one element.

    Returns:
        A new list.

    Example:
        >>> append([1], 2)
        [1, 2]
    """
    return [*old, new]
