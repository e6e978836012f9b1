"""Checks of what packed values consist of."""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T")


def exactly(kind: type[_T], value: Any) -> _T:
    """The value, if it is of a type and not of a subclass.

    Raises:
        TypeError: it is something else.
    """
    if type(value) is not kind:
        raise TypeError(f"expected `{kind.__name__}`, found: {type(value).__name__}")
    return value


def items(count: int, value: Any) -> list[Any]:
    """The value, if it is a list of so many items.

    Raises:
        TypeError: it is something else.
    """
    if type(value) is not list or len(value) != count:
        raise TypeError(f"expected a list of {count} items, found: {type(value).__name__}")
    return value
