"""Reducers for the keys of a state: they merge a write into the value.

Put one last in ``Annotated``; without a rule, a write replaces the value, and two agents
that run in parallel must not write different values. Any function of two values, what is
there and what is written, is a rule too. The rules of this module, ``operator.add`` and the
builtin ``max`` run natively.

Example:
    >>> from typing import Annotated, TypedDict
    >>> class State(TypedDict):
    ...     notes: Annotated[list[str], append]
    ...     sources: Annotated[list[dict[str, str]], upsert("url")]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["append", "extend", "merge", "once", "upsert"]

_T = TypeVar("_T")


def append(old: list[_T], new: _T) -> list[_T]:
    """Adds one element to a list."""
    return [*old, new]


def extend(old: list[_T], new: list[_T]) -> list[_T]:
    """Adds the elements of a list to a list."""
    return [*old, *new]


def merge(old: dict[str, _T], new: dict[str, _T]) -> dict[str, _T]:
    """Merges a dict into a dict, one level deep; what is written wins."""
    return {**old, **new}


def once(old: Any, new: Any) -> NoReturn:
    """Takes the first write and refuses every later one."""
    del old, new
    raise StateError("the key can be written only once", code="write_conflict")


def upsert(key: str) -> Callable[[list[Any], Any], list[Any]]:
    """Replaces the dict in a list that has the same value under `key`, or adds one.

    Args:
        key: the field that identifies an element.

    Example:
        >>> upsert("id")([{"id": 1, "n": 1}], {"id": 1, "n": 2})
        [{'id': 1, 'n': 2}]
    """

    def rule(old: list[Any], new: Any) -> list[Any]:
        places = [place for place, item in enumerate(old) if item[key] == new[key]]
        if not places:
            return [*old, new]
        return [*old[: places[0]], new, *old[places[0] + 1 :]]

    rule.__antiphon_rule__ = ("upsert", key)  # type: ignore[attr-defined]
    return rule
