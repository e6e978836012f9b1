"""The runtime, config, stream writer and questions of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar, cast

from antiphon._antiphon import Context, current_context
from antiphon._graph_errors import GraphInterrupt
from antiphon._node.calls import perform_step
from antiphon._node.human_input import HumanInput, ask
from antiphon._node.tool_calls import perform_tool_call
from antiphon._pause import Interrupted
from antiphon._sync_async import Routine, async_method, sync_method
from antiphon.graph._langchain import settings_of
from antiphon.tools import Tool

_ContextT = TypeVar("_ContextT")

StreamWriter = Callable[[Any], None]
"""Sends a value to streams of mode ``custom``."""


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
    """The failure that an error handler handles.

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
    """The runtime of a node; injected as the parameter ``runtime``.

    Attributes:
        context: what the caller passed as ``context``.
        stream_writer: sends a value to streams of mode ``custom``.
        execution_info: which attempt of which run this is.
        heartbeat: resets the ``idle_timeout`` of the node.

    `step` and `call` are beyond LangGraph: their results are recorded, and reused when the node
    runs again.
    """

    context: _ContextT
    stream_writer: StreamWriter
    execution_info: ExecutionInfo
    heartbeat: Callable[[], None]
    _ctx: Context = field(repr=False, compare=False)
    _human_input: HumanInput = field(repr=False, compare=False)

    @sync_method
    def step(
        self,
        name: str,
        function: Callable[..., Any],
        /,
        *args: Any,
        idempotent: bool = False,
        **kwargs: Any,
    ) -> Routine[Any]:
        """Calls a function once: if the node runs again, it gets the recorded result.

        A node runs again when its `interrupt` is answered, and, with a checkpointer, when its
        run is resumed after a crash or a failure.

        Args:
            name: what the step is called in the trace and in errors.
            function: sync or async. If it accepts ``idempotency_key``, it receives a string
                that is unique to this step and stable across retries.
            *args: for the function.
            idempotent: whether it may be called twice. Default: no.
            **kwargs: for the function.

        Returns:
            The result of the function, or the recorded one.

        Raises:
            ToolError: it had started when the process died, and its outcome is unknown
                (``unknown_outcome``); not raised if it is ``idempotent``.
            StateError: the node ran again and made other calls than before
                (``replay_diverged``); or there is a checkpointer, and the result cannot be stored
                (``value_unstorable``).
        """
        step = perform_step(self._ctx, name, function, (args, kwargs), idempotent=idempotent)
        with pausing(), self._human_input.making():
            return (yield from step)

    astep = async_method(step)

    @sync_method
    def call(self, tool: Any, /, **arguments: Any) -> Routine[Any]:
        """Calls a tool once, as `step` calls a function.

        Args:
            tool: a `Tool`, a function or a LangChain tool. One that is declared ``idempotent``,
                or has no side effects, may be called again.
            **arguments: by name; checked and converted as those of a model's call.

        Returns:
            The result of the tool, or the recorded one.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``).
            RunTimeout: it took longer than it may (``tool_timeout``).
            ToolError: it is not approved (``tool_refused``); or as `step`.
            StateError: as `step`.
        """
        about = self._ctx, self._human_input, Tool.from_any(tool), arguments
        with pausing():
            return (yield from perform_tool_call(*about))

    acall = async_method(call)


def interrupt(value: Any) -> Any:
    """Asks a person, and pauses the run until the answer arrives.

    On resuming, the node runs again from its first line, and its questions are answered in the
    order of the calls.

    Args:
        value: the question, any value.

    Returns:
        The answer.

    Raises:
        GraphInterrupt: there is no answer yet. Let it pass.
        RuntimeError: no node is running here; a router cannot ask.
    """
    ctx = _current_node("A router cannot ask: put the question in a node before it")
    with pausing():
        return ask(ctx, value)


@contextmanager
def pausing() -> Iterator[None]:
    """Converts a pause to `GraphInterrupt`."""
    try:
        yield
    except Interrupted as pause:
        asked = Interrupt(pause.__antiphon_question__, pause.__antiphon_question_id__ or "")
        raise GraphInterrupt.carrying(asked) from None


def get_runtime(context_schema: type[_ContextT] | None = None) -> Runtime[_ContextT]:
    """The runtime of the node that runs here.

    Args:
        context_schema: the type of the run's context, for type checkers only.

    Raises:
        RuntimeError: no node is running here.
    """
    del context_schema
    return runtime_of(_current_node("A router takes it as a parameter called `runtime`"))


def get_config() -> RunnableConfig:
    """The config of the run whose node runs here.

    Raises:
        RuntimeError: no node is running here.
    """
    return config_of(_current_node("A router takes it as a parameter called `config`"))


def get_stream_writer() -> StreamWriter:
    """Sends values to streams of mode ``custom``.

    Raises:
        RuntimeError: no node is running here.
    """
    return _current_node("A router takes it as a parameter called `writer`").emit


def _current_node(instead: str) -> Context:
    """The context of the node that runs here; `instead` is the advice for routers.

    Raises:
        RuntimeError: no node is running here.
    """
    try:
        return current_context()
    except RuntimeError:
        raise RuntimeError(
            f"no node is running here: call this from within a node. {instead}. A thread has to "
            "run with the node's variables: start it with contextvars.copy_context().run"
        ) from None


def runtime_of(ctx: Context) -> Runtime[Any]:
    """The runtime as seen by the node of `ctx`."""
    info = ExecutionInfo(ctx.run_id, ctx.attempt)
    return Runtime(ctx.context, ctx.emit, info, ctx.heartbeat, ctx, HumanInput.of(ctx))


def config_of(ctx: Context) -> RunnableConfig:
    """The config as seen by the node of `ctx`, whose metadata name the node."""
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
