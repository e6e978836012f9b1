"""Options of LangGraph that there are not, and what takes their place."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_P = ParamSpec("_P")
_T = TypeVar("_T")

_INSTEAD = {
    "cache": "keep a cache in the node",
    "cache_policy": "keep a cache in the node",
    "debug": "read `stream` in one of its modes",
    "store": "pass an object of yours as `context`",
}


def way_out(options: Iterable[str]) -> str:
    """What takes the place of options; empty if nothing is known of them."""
    known = [_INSTEAD[name] for name in options if name in _INSTEAD]
    return f": {known[0]}, see docs/guides/from-langgraph.md" if known else ""


def refuse_missing(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """The method, whose `TypeError` for an option of LangGraph names what takes its place."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        missing = sorted(kwargs.keys() & _INSTEAD.keys())
        if missing:
            options = ", ".join(missing)
            raise TypeError(f"`{method.__name__}` has no option {options}{way_out(missing)}")
        return method(*args, **kwargs)

    return call
