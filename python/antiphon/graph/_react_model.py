"""The model of a ReAct agent: what it is asked, and what is made of its reply."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence

from antiphon._antiphon import current_context
from antiphon._event_loop import is_async, on_own_loop
from antiphon._graph_errors import GraphBuildError
from antiphon._state_schema import is_model
from antiphon.graph._action import read_action
from antiphon.graph._managed_values import steps_left
from antiphon.graph._tool_node import value_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain_core.tools import BaseTool

    from antiphon.graph._runtime import RunnableConfig, Runtime

    _Prompt = Callable[[Any, RunnableConfig], Awaitable[Any]]

_MORE_STEPS = "This needs more steps than the run has left."
_SHOWN = 3


class ReactModel:
    """The model of an agent, with the two nodes that call it.

    Args:
        model: a model that knows its tools, or a function of state and runtime that returns one.
        prompt: what comes before the messages, or makes the model's input of the state.
        response_format: the schema of the structured reply, or a pair of a prompt and a schema.
        name: the agent's name, which its messages carry.
    """

    def __init__(
        self,
        model: Any,
        prompt: Any,
        response_format: Any,
        *,
        name: str | None,
    ) -> None:
        self._model = model
        self._prompt = _read_prompt(prompt)
        self._format = response_format
        self._name = name

    async def reply(
        self, state: Any, config: RunnableConfig, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        """Calls the model; the node ``agent``."""
        state = _as_asked(state)
        model = await self._chosen(state, runtime)
        reply = await _invoked(model, await self._prompt(state, config), config)
        if not isinstance(reply, BaseMessage):
            kind = type(reply).__name__
            raise TypeError(f"the model of an agent must return a message, found: {kind}")
        if self._name is not None:
            reply = reply.model_copy(update={"name": self._name})
        if _lacks_steps(reply):
            reply = AIMessage(_MORE_STEPS, id=reply.id)
        return {"messages": [reply]}

    async def structured(
        self, state: Any, config: RunnableConfig, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        """Asks for the structured reply; the node ``generate_structured_response``."""
        messages, schema = value_in(state, "messages"), self._format
        if isinstance(schema, tuple):
            instructions, schema = schema
            messages = [SystemMessage(instructions), *messages]
        model = _chat_model(await self._chosen(state, runtime)).with_structured_output(schema)
        return {"structured_response": await _invoked(model, messages, config)}

    async def _chosen(self, state: Any, runtime: Runtime[Any]) -> Any:
        if isinstance(self._model, Runnable):
            return self._model
        model = await _called(self._model, state, runtime)
        if isinstance(model, Runnable):
            return model
        kind = type(model).__name__
        raise TypeError(f"the function that chooses the model must return one, found: {kind}")


def bound(model: Any, tools: Sequence[BaseTool], builtin: Sequence[Mapping[str, Any]]) -> Any:
    """A model that knows the tools: the given one, if they have been bound to it before.

    Args:
        model: a chat model, or a Runnable around one.
        tools: the tools of the agent.
        builtin: tools that the provider of the model runs, in the form that the provider expects.

    Raises:
        GraphBuildError: the model takes no tools, or knows others.
    """
    inner = _within(model)
    known = inner.kwargs.get("tools") if isinstance(inner, RunnableBinding) else None
    offered = [*tools, *builtin]
    if known is not None:
        missing = {tool.name for tool in tools} - {_name_of(one) for one in known}
        if missing or len(known) != len(offered):
            named = ", ".join(str(_name_of(one)) for one in known)
            wanted = ", ".join(tool.name for tool in tools)
            raise GraphBuildError(
                f"the model has other tools bound than the agent's ({wanted}): {named}",
                hint="pass the model without `bind_tools`: the agent binds its tools",
            )
        return model
    if not offered:
        return model
    try:
        return model.bind_tools(offered)
    except (AttributeError, NotImplementedError) as error:
        raise GraphBuildError(
            f"tools cannot be bound to the model: {type(model).__name__}",
            hint="pass a chat model that has `bind_tools`",
        ) from error


def _read_prompt(prompt: Any) -> _Prompt:
    """The prompt as a function of state and config that makes the model's input.

    Raises:
        GraphBuildError: it is of another type.
    """
    if isinstance(prompt, Runnable):

        async def run(state: Any, config: RunnableConfig) -> Any:
            return await _invoked(prompt, state, config)

        return run
    if callable(prompt):
        action = read_action(prompt)

        async def call(state: Any, _: RunnableConfig) -> Any:
            more = (current_context(),) if action.wants_ctx else ()
            return await _called(action.call, state, *more)

        return call
    if prompt is not None and not isinstance(prompt, str | SystemMessage):
        raise GraphBuildError(
            "`prompt` is a text, a SystemMessage, a function of the state or a Runnable, found: "
            f"{prompt!r}"
        )
    system = SystemMessage(prompt) if isinstance(prompt, str) else prompt
    opening = [] if system is None else [system]

    async def prefix(state: Any, _: RunnableConfig) -> Any:
        return [*opening, *value_in(state, "messages")]

    return prefix


def _as_asked(state: Any) -> Any:
    """The state with the messages that the model is to see.

    Raises:
        ValueError: there are none, or a call of a tool has no answer.
    """
    messages = value_in(state, "llm_input_messages") or value_in(state, "messages")
    if messages is None:
        raise ValueError("an agent needs `messages` in its state, found none")
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    asking = [one for one in messages if isinstance(one, AIMessage)]
    calls = [call for one in asking for call in one.tool_calls if call["id"] not in answered]
    if calls:
        shown = ", ".join(f"{call['name']} ({call['id']})" for call in calls[:_SHOWN])
        raise ValueError(
            "each call of a tool needs a ToolMessage with its `tool_call_id` after it in "
            f"`messages`, found calls without: {shown}"
        )
    if isinstance(state, dict):
        return {**state, "messages": messages}
    if is_model(type(state)):
        return state.model_copy(update={"messages": messages})
    return dataclasses.replace(state, messages=messages)


def _lacks_steps(reply: BaseMessage) -> bool:
    """Whether the run would reach its limit before the tools have been called."""
    asks = isinstance(reply, AIMessage) and bool(reply.tool_calls)
    return asks and steps_left(current_context()) <= 1


def _within(model: Any) -> Any:
    """The chat model of a sequence, or its binding."""
    if not isinstance(model, RunnableSequence):
        return model
    kinds = (RunnableBinding, BaseChatModel)
    return next((step for step in model.steps if isinstance(step, kinds)), model)


def _chat_model(model: Any) -> BaseChatModel:
    """The chat model within a Runnable.

    Raises:
        TypeError: there is none.
    """
    inner = _within(model)
    inner = inner.bound if isinstance(inner, RunnableBinding) else inner
    if isinstance(inner, BaseChatModel):
        return inner
    raise TypeError(f"`response_format` needs a chat model, found: {type(inner).__name__}")


def _name_of(tool: Any) -> str | None:
    """The name of a tool as a model knows it."""
    if not isinstance(tool, dict):
        return getattr(tool, "name", None)
    about = tool.get("function")
    return about.get("name") if isinstance(about, dict) else tool.get("name")


async def _called(function: Callable[..., Any], *given: Any) -> Any:
    """Calls a function; a sync one on a thread, because it may block or invoke a graph."""
    if is_async(function):
        return await function(*given)
    return await asyncio.to_thread(function, *given)


async def _invoked(runnable: Any, given: Any, config: RunnableConfig) -> Any:
    """Invokes a Runnable as the graph is invoked: by its sync half in sync code, if it has one."""
    only_async = getattr(runnable, "afunc", None) is not None and not hasattr(runnable, "func")
    if on_own_loop() and not only_async:
        return await asyncio.to_thread(runnable.invoke, given, config)
    return await runnable.ainvoke(given, config)
