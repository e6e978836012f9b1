"""The calls in a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrace:
    """One call of a tool, or of a function with ``ctx.step``.

    Attributes:
        name: the name of the tool or step.
        arguments: by name; of a step, its positional and keyword arguments. A text if the model
            wrote malformed JSON.
        result: what the model reads of the result, or what a call in Python returned; ``None``
            if it has not ended.
        ok: whether it succeeded; ``None`` if it has not ended.
        error: why it failed.
        seconds: how long it took; ``None`` if it has not ended.
        step: whether it is a step.
        replayed: whether the result was recorded before the run was resumed.
    """

    name: str
    arguments: Any = None
    result: Any = None
    ok: bool | None = None
    error: str | None = None
    seconds: float | None = None
    step: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrace:
    """One request to a model, its reply, and the tool calls that the reply requested.

    Attributes:
        model: the model that replied, as its provider names it; empty without a reply.
        messages: the messages of the request, without the first `earlier`.
        earlier: the number of messages that the request repeats from those before it.
        tools: the names of the tools that it offers.
        tool_specs: their descriptions and parameters, in the first request of an agent.
        schema: the JSON schema of the reply.
        parameters: temperature, token limit and time-out, where they are set.
        text: the text of the reply; ``None`` without a reply.
        tool_calls: the tool calls that the reply requests.
        finish: why the model stopped: ``stop``, ``length``, ``tool_calls``, ``content_filter``.
        usage: tokens read and written.
        seconds: how long it took; ``None`` without a reply.
        replayed: whether the reply was recorded before the run was resumed.
        tools_called: the calls, in order.
    """

    model: str = ""
    messages: tuple[dict[str, Any], ...] = ()
    earlier: int = 0
    tools: tuple[str, ...] = ()
    tool_specs: tuple[dict[str, Any], ...] = ()
    schema: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    finish: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    seconds: float | None = None
    replayed: bool = False
    tools_called: tuple[ToolTrace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTrace:
    """One execution of an agent, or of another node of a graph.

    Attributes:
        name: the agent's name.
        path: the names of the agents that lead to it, its own last.
        attempt: 1 for the first attempt.
        seconds: how long it took; ``None`` if it has not ended.
        error: why it failed.
        reply: what the function or the ``act`` of a ready system's role has returned; ``None`` of
            a model.
        calls: its model calls, its own tool calls, and the agents within it, in order.
    """

    name: str
    path: tuple[str, ...]
    attempt: int = 1
    seconds: float | None = None
    error: str | None = None
    reply: Any = None
    calls: tuple[ModelTrace | ToolTrace | AgentTrace, ...] = ()


Call: TypeAlias = ModelTrace | ToolTrace | AgentTrace
"""A node of the tree."""
_KINDS: dict[type, str] = {AgentTrace: "agent", ModelTrace: "model", ToolTrace: "tool"}


def walk(calls: Sequence[Call]) -> Iterator[Call]:
    """All calls in a tree, each before those within it."""
    for call in calls:
        yield call
        if isinstance(call, AgentTrace):
            yield from walk(call.calls)
        elif isinstance(call, ModelTrace):
            yield from call.tools_called


def as_dict(call: Call) -> dict[str, Any]:
    """A call as JSON values."""
    made: dict[str, Any] = {"kind": _KINDS[type(call)]}
    for name in type(call).__dataclass_fields__:
        value = getattr(call, name)
        if name in ("calls", "tools_called"):
            made[name] = [as_dict(inner) for inner in value]
        else:
            made[name] = list(value) if isinstance(value, tuple) else value
    return made
