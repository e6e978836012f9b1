"""Python code of roles, called from threads of the engine: functions, models and tools."""

from __future__ import annotations

import inspect
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

from antiphon._content import encode_tool_result
from antiphon._event_loop import LoopScope, level_of_caller, result_of, submit
from antiphon._model.adapters import as_model
from antiphon._tool.approval import ToolCall, approver, decide_call
from antiphon._tool.lifespan import resource_of
from antiphon._tool.timed_call import call_tool
from antiphon.models import Model
from antiphon.tools import Tool, ToolContext
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from antiphon._antiphon import ModelCall, NativeTool, ToolGate


class Cancellable(Protocol):
    """A call by the engine."""

    def when_cancelled(self, callback: Callable[[], object]) -> None:
        """Calls `callback`, on any thread, when the call is cancelled."""


class CallerContext:
    """The context variables of a system's caller, its event loop and its thread.

    Args:
        loop: where coroutines run. Default: a loop of antiphon's own.
        thread: the name of the thread that stores the question. Default: none.
        context: what the caller passed as ``context=``. Default: nothing.
    """

    __slots__ = ("_loop", "_variables", "context", "level", "models", "thread")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None = None,
        thread: str | None = None,
        *,
        context: Any = None,
    ) -> None:
        self.thread = thread
        self.context = context
        self.models: list[str] = []
        """The models of systems that have answered in roles."""
        self.level = level_of_caller()
        """The index of antiphon's event loop for the question; see `LoopScope`."""
        self._loop = loop
        self._variables = copy_context()

    def call(self, function: Callable[..., Any], *given: Any, on: Cancellable) -> Any:
        """Calls a sync or async function; cancelling `on` cancels a coroutine."""
        variables = self._variables.copy()
        with LoopScope(self.level):
            return variables.run(_await_reply, variables.run(function, *given), on, self._loop)


def model_adapter(given: Any, where: str) -> Model | tuple[Callable[..., Any], str]:
    """A model, or a callable with its name in traces.

    Raises:
        ValidationError: it is no model (``model_invalid``), or as `antiphon.models.get`.
        AuthError: as `antiphon.models.get`.
    """
    found = as_model(given, where)
    if isinstance(found, Model):
        return found
    ask, _ = found

    def reply(request: dict[str, Any], call: ModelCall) -> Any:
        return _await_reply(ask(request, call), call)

    return reply, ask.name


def as_tools(
    given: Iterable[Any],
) -> list[tuple[Any, ToolCallback, Callable[..., Any] | None]]:
    """The spec of each tool, with the callables that call it and approve its calls."""
    return [
        (tool.spec, ToolCallback(tool), _approving(tool))
        for tool in Tool.collect(Toolset.flatten(given))
    ]


def _await_reply(reply: Any, on: Cancellable, loop: asyncio.AbstractEventLoop | None = None) -> Any:
    if not inspect.isawaitable(reply):
        return reply
    future = submit(reply, loop)
    on.when_cancelled(future.cancel)
    return result_of(future)


def _approving(tool: Tool) -> Callable[..., Any] | None:
    approve = approver(tool)
    if approve is None:
        return None

    def decide(arguments: dict[str, Any], about: dict[str, Any]) -> bool | str:
        key = about.get("idempotency_key") or ""
        call_id = about.get("call_id") or key
        return decide_call(approve, ToolCall(name=tool.name, arguments=arguments, call_id=call_id))

    return decide


class ToolCallback:
    """A tool as the engine calls it for a role."""

    __slots__ = ("_ungated", "tool")

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self._ungated = tool.ungated()

    @property
    def native(self) -> NativeTool | None:
        """The native tool, which a ready system calls in place of this."""
        return None if self.tool.native is None else self.tool.native.handle

    @property
    def gate(self) -> ToolGate | None:
        """The gate, which a ready system passes before it calls this."""
        return self.tool.gate

    def __call__(
        self, arguments: dict[str, Any], about: dict[str, Any], caller: CallerContext | None = None
    ) -> Any:
        """Calls the tool; `caller` is the context of the question."""
        key = about.get("idempotency_key") or ""
        context = ToolContext(
            name=self.tool.name,
            call_id=about.get("call_id") or key,
            idempotency_key=key,
            context=None if caller is None else caller.context,
            thread=None if caller is None else caller.thread,
            resource=None if caller is None else resource_of(self.tool, caller),
            context_summary=about.get("context_summary"),
        )
        with LoopScope(None if caller is None else caller.level):
            result = call_tool(self._ungated, arguments, context)
        return encode_tool_result(result, self.tool.name)
