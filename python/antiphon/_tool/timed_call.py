"""Calls of tools that end in time."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol

from antiphon._antiphon import error_in_result
from antiphon._event_loop import run_blocking
from antiphon._json_values import encode_or
from antiphon._tool.worker_thread import call_on_thread
from antiphon.errors import RunTimeout, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from antiphon._tool.context import ToolContext
    from antiphon._tool.native import NativeBody


class TimedTool(Protocol):
    """A tool, as far as its calls need it."""

    @property
    def name(self) -> str:
        """The tool's name."""

    @property
    def timeout(self) -> float | None:
        """The time limit of a call, in seconds."""

    @property
    def is_async(self) -> bool:
        """Whether `call` is known to return an awaitable."""

    @property
    def native(self) -> NativeBody | None:
        """The native tool behind it, which applies the time-out itself."""

    def start(self, arguments: Mapping[str, Any], context: ToolContext[Any] | None) -> Any:
        """Calls it; if it is async, what it returns is awaited."""


def call_tool(tool: TimedTool, arguments: dict[str, Any], context: ToolContext[Any]) -> Any:
    """Calls a sync or async tool and waits for its result.

    Raises:
        RunTimeout: it took longer than it may (``tool_timeout``).
        ToolError: its result says that the call has failed (``tool_failed``).
    """
    return _checked(tool, _call(tool, arguments, context))


def _call(tool: TimedTool, arguments: dict[str, Any], context: ToolContext[Any]) -> Any:
    if tool.is_async:
        return run_blocking(
            tool.start(arguments, context), timeout=tool.timeout, late=lambda: _late(tool)
        )
    if tool.timeout is None or tool.native is not None:
        value = tool.start(arguments, context)
        return run_blocking(value) if inspect.isawaitable(value) else value
    # A call that is stuck keeps its thread, not the caller.
    future = call_on_thread(tool.start, arguments, context)
    try:
        return future.result(tool.timeout)
    except TimeoutError:
        # The tool itself may raise the same.
        if future.done():
            raise
        raise _late(tool) from None


async def acall_tool(
    tool: TimedTool, arguments: Mapping[str, Any], context: ToolContext[Any] | None
) -> Any:
    """`call_tool` on the caller's event loop; a sync function runs on a thread."""
    import asyncio  # it takes 20 ms

    if tool.native is not None:
        return await tool.native.ainvoke(arguments, context)
    waiting: Awaitable[Any]
    if tool.is_async:
        waiting = tool.start(arguments, context)
    elif tool.timeout is None:
        waiting = asyncio.to_thread(tool.start, arguments, context)
    else:
        waiting = asyncio.wrap_future(call_on_thread(tool.start, arguments, context))
    try:
        async with asyncio.timeout(tool.timeout) as limit:
            value = await waiting
            return _checked(tool, await value if inspect.isawaitable(value) else value)
    except TimeoutError:
        if not limit.expired():
            raise
        raise _late(tool) from None


def _checked(tool: TimedTool, value: Any) -> Any:
    """The result of a call, unless it says that the call has failed."""
    # Encoding a large result only to find no error in it would cost more than many a call.
    if type(value) is dict and ("error" in value or "isError" in value):
        encoded = encode_or(value, None)
        message = None if encoded is None else error_in_result(encoded)
        if message is not None:
            raise ToolError(message, code="tool_failed", details={"tool": tool.name})
    return value


def _late(tool: TimedTool) -> RunTimeout:
    return RunTimeout(
        f"tool `{tool.name}` exceeded its time-out in seconds: {tool.timeout}",
        code="tool_timeout",
        details={"tool": tool.name},
    )
