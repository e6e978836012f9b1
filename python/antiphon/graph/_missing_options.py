"""Options and methods of LangGraph that there are not, and what takes their place."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_P = ParamSpec("_P")
_T = TypeVar("_T")

_STREAM = "read `stream` in one of its modes"
_ENCLOSING = "read the state of the enclosing graph"
_DRAW = "`draw_svg()` and `draw_mermaid()` of `get_graph()` show one graph: draw the inner one too"
_INSTEAD = {
    "cache": "keep a cache in the node",
    "cache_policy": "keep a cache in the node",
    "config_schema": "pass `context_schema`",
    "debug": _STREAM,
    "print_mode": _STREAM,
    "store": "pass an object of yours as `context`",
    "subgraphs": _ENCLOSING,
    "xray": _DRAW,
}
_METHODS = {
    "abulk_update_state": "call `aupdate_state` for each update",
    "aget_graph": "call `get_graph`",
    "aget_subgraphs": "keep the inner graphs that you add as nodes",
    "bulk_update_state": "call `update_state` for each update",
    "config_schema": "keep the `context_schema` of the builder",
    "get_subgraphs": "keep the inner graphs that you add as nodes",
}


def unknown_option(method: str, options: Iterable[str]) -> TypeError:
    """The error for options that a method does not have, with what takes their place."""
    unknown = sorted(options)
    way_out = _see(_INSTEAD[name] for name in unknown if name in _INSTEAD)
    return TypeError(f"`{method}` has no option {', '.join(unknown)}{way_out}")


def way_out_of_method(name: str) -> str:
    """What takes the place of a method; empty if nothing is known of it."""
    return _see(_METHODS[one] for one in [name] if one in _METHODS)


def _see(alternatives: Iterable[str]) -> str:
    first = next(iter(alternatives), None)
    return "" if first is None else f": {first}, see docs/guides/from-langgraph.md"


def refuse_missing(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """The method, whose `TypeError` for an option of LangGraph names what takes its place."""
    refused = _INSTEAD.keys() - inspect.signature(method).parameters.keys()
    name = method.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    def check(kwargs: dict[str, Any]) -> None:
        if not refused.isdisjoint(kwargs):
            raise unknown_option(name, refused & kwargs.keys())

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        check(kwargs)
        return method(*args, **kwargs)

    @functools.wraps(method)
    async def acall(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        check(kwargs)
        return await method(*args, **kwargs)  # type: ignore[misc]

    # What asks whether a method is async asks the function.
    return acall if inspect.iscoroutinefunction(method) else call  # type: ignore[return-value]
