"""Parameters of LangChain tools that a node fills in, hidden from the model."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from langchain_core.tools import InjectedToolArg, base

from antiphon._graph_errors import GraphBuildError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.tools import BaseTool

    from antiphon.graph._runtime import RunnableConfig, Runtime

_ContextT = TypeVar("_ContextT")
_StateT = TypeVar("_StateT")

_Injected: Any = getattr(base, "_DirectlyInjectedToolArg", InjectedToolArg)
# How LangChain knows a parameter that is hidden by its type alone.


class InjectedState(InjectedToolArg):
    """Marks a parameter of a tool that takes the state of the graph, or one key of it.

    Example:
        >>> from typing import Annotated
        >>> from langchain_core.tools import tool
        >>> from antiphon.graph import InjectedState
        >>> @tool
        ... def count(word: str, state: Annotated[dict, InjectedState]) -> int:
        ...     "Counts a word in the text."
        ...     return state["text"].count(word)
        >>> list(count.tool_call_schema.model_json_schema()["properties"])
        ['word']
    """

    def __init__(self, field: str | None = None) -> None:
        """Marks a parameter.

        Args:
            field: the key. Default: the whole state.
        """
        self.field = field


class ToolRuntime(_Injected, Generic[_ContextT, _StateT]):  # type: ignore[misc]
    """What a tool learns about its call; for a parameter of this type.

    Attributes:
        state: the state of the graph.
        context: what the caller passed as ``context``.
        config: the config of the run.
        stream_writer: sends a value to streams of mode ``custom``.
        tool_call_id: the id of the call.
        tools: the tools of the node.
        execution_info: which attempt of which run this is.
    """

    state: _StateT
    context: _ContextT
    config: RunnableConfig
    stream_writer: Any
    tool_call_id: str | None
    tools: list[BaseTool]
    execution_info: Any

    @classmethod
    def of(
        cls,
        call: Mapping[str, Any],
        state: Any,
        config: RunnableConfig,
        runtime: Runtime[Any] | None,
    ) -> Self:
        """The runtime of one call, in a node or outside of graphs."""
        made = cls()
        made.state, made.config, made.tool_call_id = state, config, call["id"]
        made.context = cast("_ContextT", None if runtime is None else runtime.context)
        made.stream_writer = _drop if runtime is None else runtime.stream_writer
        made.execution_info = None if runtime is None else runtime.execution_info
        made.tools = []
        return made


def _drop(_: Any) -> None:
    """Takes what nobody watches."""


@dataclass(frozen=True, slots=True)
class Injection:
    """The parameters of a tool that a node fills in.

    Attributes:
        states: the key of the state by parameter; ``None`` for the whole state.
        optional: those of them that have a default.
        runtime: the parameter that takes the `ToolRuntime`.
        hidden: all parameters that a model must not fill in.
    """

    states: Mapping[str, str | None]
    optional: frozenset[str]
    runtime: str | None
    hidden: frozenset[str]

    @classmethod
    def of(cls, tool: BaseTool) -> Self:
        """Reads them from the type hints.

        Raises:
            GraphBuildError: a parameter takes a store.
        """
        states: dict[str, str | None] = {}
        runtime, hidden = None, set()
        schema = tool.get_input_schema()
        for name, hint in _hints(tool, schema).items():
            marks = [hint, typing.get_origin(hint), *typing.get_args(hint)]
            kinds = {_kind(mark) for mark in marks}
            if "InjectedStore" in kinds:
                raise GraphBuildError(
                    f"`{name}` of the tool `{tool.name}` takes a store, which graphs do not have",
                    hint="pass your store as `context`, and take it from a `ToolRuntime`",
                )
            if "InjectedState" in kinds:
                keys = (getattr(mark, "field", None) for mark in marks)
                states[name] = next((key for key in keys if isinstance(key, str)), None)
            elif "ToolRuntime" in kinds:
                runtime = name
            if kinds & {"InjectedState", "ToolRuntime", "InjectedToolArg"}:
                hidden.add(name)
        fields = getattr(schema, "model_fields", {})
        optional = {name for name in states if name in fields and not fields[name].is_required()}
        return cls(states, frozenset(optional), runtime, frozenset(hidden))

    def fill(
        self, given: Mapping[str, Any], runtime: ToolRuntime[Any, Any], messages_key: str
    ) -> dict[str, Any]:
        """The arguments of a call, without what a model has no right to set.

        Raises:
            KeyError: the state has no such key.
        """
        filled = {name: value for name, value in given.items() if name not in self.hidden}
        state: Any = runtime.state
        state = {messages_key: state} if isinstance(state, list) else state
        for name, key in self.states.items():
            if key is None:
                filled[name] = state
            elif _has(state, key):
                filled[name] = state[key] if isinstance(state, dict) else getattr(state, key)
            elif name not in self.optional:
                raise KeyError(key)
        if self.runtime is not None:
            filled[self.runtime] = runtime
        return filled


def _has(state: Any, key: str) -> bool:
    return key in state if isinstance(state, dict) else hasattr(state, key)


def _hints(tool: BaseTool, schema: Any) -> dict[str, Any]:
    """The type hints of a tool's parameters, from its function and its schema."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    hints: dict[str, Any] = {}
    for source in (function or tool._run, schema):  # noqa: SLF001 - where tools that are classes have them
        hints |= typing.get_type_hints(source, include_extras=True)
    hints.pop("return", None)
    return hints


def _kind(mark: Any) -> str | None:
    """Which of the known marks a part of a hint is; LangGraph's own count too, by their names."""
    kind = mark if isinstance(mark, type) else type(mark)
    names = [base.__name__ for base in kind.__mro__]
    known = ("InjectedStore", "InjectedState", "ToolRuntime", "InjectedToolArg")
    return next((name for name in known if name in names), None)
