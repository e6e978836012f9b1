"""Compiled graphs as LangChain Runnables, once LangChain is imported.

Importing antiphon or compiling a graph imports no LangChain. A graph that is compiled after
LangChain was imported is a Runnable from the beginning; any other becomes one when LangChain or
its user first takes it for one.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any, TypeVar, cast

from antiphon._graph_errors import GraphBuildError
from antiphon.graph._generator_node import is_generator, joining
from antiphon.graph._missing_options import way_out_of_method

_T = TypeVar("_T", bound=type)

RUNNABLE_NAMES = frozenset(
    {
        "InputType",
        "OutputType",
        "abatch_as_completed",
        "as_tool",
        "assign",
        "astream_events",
        "astream_log",
        "atransform",
        "batch_as_completed",
        "bind",
        "config_schema",
        "config_specs",
        "get_config_jsonschema",
        "get_prompts",
        "input_schema",
        "map",
        "output_schema",
        "pick",
        "pipe",
        "stream_events",
        "transform",
        "with_alisteners",
        "with_fallbacks",
        "with_listeners",
        "with_retry",
        "with_types",
    }
)
"""What a Runnable has beside what a graph has by itself; asking for it imports LangChain."""


def as_runnable(kind: _T) -> _T:
    """A subclass that is a Runnable too, or the class itself if nobody has imported LangChain."""
    runnable = getattr(sys.modules.get("langchain_core.runnables.base"), "Runnable", None)
    known = runnable is None or issubclass(kind, runnable)
    return kind if known else cast("_T", _mixed(kind, runnable))


def coerce_to_node(action: Any) -> Any:
    """Turns a dict into a Runnable, and a generator function into a function, as LangGraph does.

    Raises:
        GraphBuildError: it is LangGraph's own `ToolNode`.
        ImportError: LangChain is not installed.
    """
    kind = type(action)
    if kind.__name__ == "ToolNode" and kind.__module__.startswith("langgraph."):
        raise GraphBuildError(
            "LangGraph's ToolNode needs LangGraph's runtime",
            hint="import `ToolNode` from `antiphon.graph`",
        )
    if isinstance(action, dict):
        return load_runnables("a dict as a node").RunnableParallel(action)
    return joining(action) if is_generator(action) else action


def load_runnables(wanted: str) -> Any:
    """The module of LangChain's Runnables, imported on demand.

    Raises:
        ImportError: LangChain is not installed.
    """
    try:
        from langchain_core.runnables import base
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        message = f"a graph needs LangChain for {wanted}: pip install langchain-core"
        raise ImportError(message, name=error.name) from error
    return base


class RunnableFace:
    """Turns a graph into a Runnable on demand."""

    def __or__(self, following: Any) -> Any:
        return load_runnables("`|`").RunnableSequence(self, following)

    def __ror__(self, before: Any) -> Any:
        return load_runnables("`|`").RunnableSequence(before, self)

    if not TYPE_CHECKING:  # to a checker, any name would be one of a graph's

        @property
        def __class__(self) -> type:
            """The class as `isinstance` asks for it, which is how LangChain knows a Runnable."""
            _become_runnable(self)
            return type(self)

        def __getattr__(self, name: str) -> Any:
            if name in RUNNABLE_NAMES:
                try:
                    load_runnables(f"`{name}`")
                except ImportError as error:
                    raise AttributeError(str(error), name=name, obj=self) from error
            if _become_runnable(self):
                return getattr(self, name)
            message = f"a compiled graph has no attribute: {name}{way_out_of_method(name)}"
            raise AttributeError(message, name=name, obj=self)


def _become_runnable(graph: RunnableFace) -> bool:
    """Turns a graph into a Runnable, and returns whether it was none before."""
    kind = type(graph)
    found = as_runnable(kind)
    if found is not kind:
        # Its own `__class__` stands before that of `object`, by which the class is changed.
        object.__dict__["__class__"].__set__(graph, found)
    return found is not kind


@functools.cache
def _mixed(kind: type, runnable: type) -> type:
    def fill(names: dict[str, Any]) -> None:
        # Runnable reads them off its type arguments, which a graph does not have.
        names.update(__module__=kind.__module__, InputType=Any, OutputType=Any)

    return types.new_class(kind.__name__, (kind, runnable), exec_body=fill)
