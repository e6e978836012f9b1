"""What a node can reach beside its state: runtime, config, stream writer, and the person asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, cast

from antiphon._antiphon import Context, current_context
from antiphon._pause import Interrupted
from antiphon.graph._errors import GraphInterrupt
from antiphon.graph._langchain import settings_of

__all__ = [
    "ExecutionInfo",
    "Interrupt",
    "NodeError",
    "RunnableConfig",
    "Runtime",
    "StreamWriter",
    "config_of",
    "get_config",
    "get_runtime",
    "get_stream_writer",
    "interrupt",
    "node_error",
    "runtime_of",
]

_ContextT = TypeVar("_ContextT")

StreamWriter = Callable[[Any], None]
"""Sends a value to whoever streams the run in mode ``custom``."""


class RunnableConfig(TypedDict, total=False):
    """Settings of one call; they reach the nodes as they are.

    Attributes:
        recursion_limit: supersteps before the run is given up. Default: 10,007.
        max_concurrency: nodes that run at a time. Default: no limit.
        configurable: values for the nodes, by name.
        tags: labels for the nodes and what they call.
        metadata: notes for the nodes and what they call.
        callbacks: handlers for the LangChain parts that nodes call.
        run_name: a name for the LangChain parts that nodes call.
        run_id: the run's id. Default: a new one.
    """

    recursion_limit: int
    max_concurrency: int | None
    configurable: dict[str, Any]
    tags: list[str]
    metadata: dict[str, Any]
    callbacks: Any
    run_name: str
    run_id: Any


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that a node asks.

    Attributes:
        value: the question.
        id: names it in an answer.
    """

    value: Any
    id: str


@dataclass(frozen=True, slots=True)
class NodeError:
    """What an error handler gets to know.

    Attributes:
        node: the name of the node that failed.
        error: what it raised.
    """

    node: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Which attempt of which run this is.

    Attributes:
        run_id: the run's id.
        node_attempt: 1 for the first attempt.
    """

    run_id: str
    node_attempt: int


@dataclass(frozen=True, slots=True)
class Runtime(Generic[_ContextT]):
    """What a run offers its nodes; injected where a parameter is called ``runtime``.

    Attributes:
        context: what the caller passed as ``context``.
        stream_writer: sends a value to whoever streams in mode ``custom``.
        execution_info: which attempt of which run this is.
        heartbeat: says that the node is alive, which puts its ``idle_timeout`` off.
    """

    context: _ContextT
    stream_writer: StreamWriter
    execution_info: ExecutionInfo
    heartbeat: Callable[[], None]


def interrupt(value: Any) -> Any:
    """Asks a person, and pauses the run until the answer is there.

    On resuming, the node runs again from its first line, and the questions it asks are
    answered in the order of the calls.

    Args:
        value: the question, any value.

    Returns:
        The answer.

    Raises:
        GraphInterrupt: there is no answer yet. Let it pass.
        RuntimeError: no node is running here.
    """
    try:
        return current_context().ask(value)
    except Interrupted as pause:
        raise GraphInterrupt((Interrupt(value, getattr(pause, "id", "")),)) from None


def get_runtime(context_schema: type[_ContextT] | None = None) -> Runtime[_ContextT]:
    """The runtime of the node that runs here.

    Args:
        context_schema: the type of the run's context, for type checkers only.

    Raises:
        RuntimeError: no node is running here.
    """
    del context_schema
    return runtime_of(current_context())


def get_config() -> RunnableConfig:
    """The config of the run whose node runs here.

    Raises:
        RuntimeError: no node is running here.
    """
    return config_of(current_context())


def get_stream_writer() -> StreamWriter:
    """Sends values to whoever streams the run in mode ``custom``.

    Raises:
        RuntimeError: no node is running here.
    """
    return current_context().emit


def runtime_of(ctx: Context) -> Runtime[Any]:
    """The runtime as seen by the node of `ctx`."""
    info = ExecutionInfo(ctx.run_id, ctx.attempt)
    return Runtime(ctx.context, ctx.emit, info, ctx.heartbeat)


def config_of(ctx: Context) -> RunnableConfig:
    """The config as seen by the node of `ctx`: its metadata say which node it is."""
    made = settings_of(ctx)
    if made is not None:
        return cast("RunnableConfig", dict(made))
    config: RunnableConfig = ctx.config
    where = {"langgraph_node": ctx.node, "langgraph_step": ctx.step}
    return {**config, "metadata": {**config["metadata"], **where}}


def node_error(ctx: Context) -> NodeError | None:
    """The failure that the node of `ctx` handles, if it is a handler."""
    if ctx.error is None or ctx.failed_node is None:
        return None
    return NodeError(ctx.failed_node, ctx.error)
