"""Nodes that call the tools that a LangChain message asks for."""

from __future__ import annotations

import asyncio
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from antiphon._antiphon import Command
from antiphon._event_loop import run_blocking
from antiphon._graph_errors import GraphBubbleUp, GraphBuildError
from antiphon.errors import AntiphonError
from antiphon.graph._tool_commands import returning_commands, with_one_exit
from antiphon.graph._tool_injection import Injection, ToolRuntime
from antiphon.graph._tool_reply import failed, replies_of
from antiphon.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.messages import ToolMessage

    from antiphon.graph._runtime import RunnableConfig, Runtime

CALL_WITH_STATE = "tool_call_with_context"
"""The type of an input that is one call, with the state beside it."""


class ToolNode:
    """A node that calls the tools that the last `AIMessage` of a state asks for, all at once.

    It needs LangChain. A tool is a LangChain tool, a function with type hints and a docstring, or
    a `Tool` of antiphon. Its result becomes a `ToolMessage`; a tool may also return a `Command`
    whose update holds that message, or a list of messages and commands. Parameters that are
    annotated with `InjectedState` or `ToolRuntime` are filled in by the node, never by the model.

    Attributes:
        name: the name of the node.
        tools_by_name: the tools.
        reads_state: whether one of the tools sees the state.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Tool | Callable[..., Any]],
        *,
        name: str = "tools",
        handle_tool_errors: bool
        | str
        | type[Exception]
        | tuple[type[Exception], ...]
        | Callable[..., str]
        | None = None,
        messages_key: str = "messages",
    ) -> None:
        """Makes a node of tools.

        Args:
            tools: the tools.
            name: the name of the node. Default: ``tools``.
            handle_tool_errors: which failures are reported to the model instead of ending the run:
                True for all, False for none, exceptions by their classes, or those that a function
                takes by its type hint. A text, or the return value of the function, is
                sent in place of the failure. Default: arguments that do not fit the tool.
            messages_key: the key of the state with the messages. Default: ``messages``.

        Raises:
            GraphBuildError: two tools have the same name.
        """
        self.name = self.__name__ = name
        self.tools_by_name: dict[str, BaseTool] = {}
        self._key = messages_key
        self._handler = handle_tool_errors
        self._handled = _handled(handle_tool_errors)
        for given in tools:
            made = _as_langchain(given)
            if made.name in self.tools_by_name:
                raise GraphBuildError(f"two tools have the same name: {made.name}")
            self.tools_by_name[made.name] = made
        self._callable = {
            name: returning_commands(made) for name, made in self.tools_by_name.items()
        }
        self._injections = {name: Injection.of(made) for name, made in self.tools_by_name.items()}

    @property
    def reads_state(self) -> bool:
        """Whether one of the tools sees the state."""
        return any(one.states or one.runtime for one in self._injections.values())

    def invoke(self, given: Any, config: RunnableConfig | None = None) -> Any:
        """Calls the tools outside of a graph; in a graph, add the object itself as a node.

        Args:
            given: a state, a list of messages, or a list of tool calls.
            config: passed to the tools.
        """
        return run_blocking(self.ainvoke(given, config))

    async def ainvoke(self, given: Any, config: RunnableConfig | None = None) -> Any:
        """`invoke` on the caller's event loop."""
        return await self._call_all(given, config or {}, None)

    async def __call__(self, state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        return await self._call_all(state, config, runtime)

    async def _call_all(
        self, given: Any, config: RunnableConfig, runtime: Runtime[Any] | None
    ) -> Any:
        calls, state = self._read(given)
        pending = [self._call(call, ToolRuntime.of(call, state, config, runtime)) for call in calls]
        replies = [reply for several in await asyncio.gather(*pending) for reply in several]
        as_list = isinstance(given, list) and not _is_call(given[-1])
        if not any(isinstance(reply, Command) for reply in replies):
            return replies if as_list else {self._key: replies}
        replies = with_one_exit(replies)
        if len(replies) == 1:
            return replies[0]
        return [reply if isinstance(reply, Command) else {self._key: [reply]} for reply in replies]

    def _read(self, given: Any) -> tuple[list[Any], Any]:
        """The calls to make, and the state that tools see."""
        if isinstance(given, dict) and given.get("__type") == CALL_WITH_STATE:
            return [given["tool_call"]], given["state"]
        if isinstance(given, list):
            if given and _is_call(given[-1]):
                return given, {}
            messages: Any = given
        else:
            messages = value_in(given, self._key)
        asking = [message for message in messages or () if isinstance(message, AIMessage)]
        if not asking:
            raise ValueError(f"there is no AIMessage in `{self._key}` that could ask for tools")
        return list(asking[-1].tool_calls), given

    async def _call(
        self, call: Mapping[str, Any], runtime: ToolRuntime[Any, Any]
    ) -> list[ToolMessage | Command[Any]]:
        name = call["name"]
        tool = self.tools_by_name.get(name)
        if tool is None:
            known = ", ".join(self.tools_by_name)
            return failed(call, f"There is no tool `{name}`; the tools are: {known}")
        runtime.tools = list(self.tools_by_name.values())
        arguments = self._injections[name].fill(call["args"], runtime, self._key)
        try:
            asked = {**call, "args": arguments, "type": "tool_call"}
            value = await self._callable[name].ainvoke(asked, runtime.config)
            key = None if isinstance(runtime.state, list) else self._key
            return replies_of(call, value, key)
        except GraphBubbleUp:
            raise
        except Exception as error:
            if not self._is_handled(error, tool):
                raise
            return failed(call, self._error_text(error, tool))

    def _is_handled(self, error: Exception, tool: BaseTool) -> bool:
        if self._handler is None:
            return _is_misfit(error, tool)
        return isinstance(error, self._handled)

    def _error_text(self, error: Exception, tool: BaseTool) -> str:
        if isinstance(self._handler, str):
            return self._handler
        if callable(self._handler) and not isinstance(self._handler, type):
            return str(self._handler(error))
        if _is_misfit(error, tool):
            return _misfits(error, tool)
        return f"The tool `{tool.name}` failed: {error!r}"


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """A router: to the node ``tools`` if the last message asks for tools, else to the end.

    Args:
        state: a state with messages, or a list of them.
        messages_key: the key of the state with the messages. Default: ``messages``.

    Raises:
        ValueError: there are no messages.
    """
    messages = state if isinstance(state, list) else value_in(state, messages_key)
    if not messages:
        raise ValueError(f"a state without messages leads nowhere: `{messages_key}` is empty")
    return "tools" if getattr(messages[-1], "tool_calls", None) else "__end__"


def value_in(state: Any, key: str, default: Any = None) -> Any:
    """A key of a state, which is a dict or an object."""
    return state.get(key, default) if isinstance(state, dict) else getattr(state, key, default)


def _as_langchain(given: Any) -> BaseTool:
    if isinstance(given, Tool):
        made: BaseTool = given.as_langchain()
        return made
    return given if isinstance(given, BaseTool) else make_tool(given)


def _is_call(given: Any) -> bool:
    return isinstance(given, dict) and given.get("type") == "tool_call"


def _handled(handler: Any) -> tuple[type[Exception], ...]:
    """The exceptions that are reported to the model, if they are named by their classes."""
    if isinstance(handler, tuple):
        return handler
    if isinstance(handler, type):
        return (handler,)
    if handler is None or handler is False:
        return ()
    if not callable(handler):
        return (Exception,)
    parameters = list(inspect.signature(handler).parameters)
    hint = typing.get_type_hints(handler).get(parameters[0]) if parameters else None
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if union else (hint,)
    named = tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))
    return named or (Exception,)


def _is_misfit(error: Exception, tool: BaseTool) -> bool:
    """Whether it says that the arguments of a call do not fit the tool."""
    if isinstance(error, AntiphonError):
        return error.code == "invalid_value" and "tool" in error.details
    from pydantic import ValidationError

    return isinstance(error, ValidationError) and error.title == tool.get_input_schema().__name__


def _misfits(error: Any, tool: BaseTool) -> str:
    if isinstance(error, AntiphonError):
        return f"The call failed: {error.message}"
    found = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    return f"The arguments do not fit the tool `{tool.name}`: {'; '.join(found)}"
