"""One call of a tool from within an agent."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from antiphon import _loop
from antiphon.errors import RunTimeout, ValidationError
from antiphon.tools import Tool, ToolContext

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_tool(wanted: Any, tools: Iterable[Tool], agent: str) -> Tool:
    """A tool, or the agent's tool of that name.

    Raises:
        ValidationError: the agent has no such tool (``tool_unknown``), or the value is none.
    """
    if not isinstance(wanted, str):
        return Tool.from_any(wanted)
    known = {tool.name: tool for tool in tools}
    if wanted not in known:
        raise ValidationError(
            f"agent `{agent}` has no such tool: {wanted}",
            code="tool_unknown",
            details={"tool": wanted, "known": sorted(known)},
            hint=f"its tools are {', '.join(sorted(known))}"
            if known
            else "list it in the agent's `tools`, or pass the tool itself",
        )
    return known[wanted]


def use(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
    """Calls a tool and waits for what it returns, for an asynchronous one too.

    Raises:
        RunTimeout: it took longer than it may (``tool_timeout``).
    """
    if not tool.is_async and tool.timeout is None:
        value = tool.call(arguments, context)
        return _waited(value, None, tool) if inspect.isawaitable(value) else value
    if tool.is_async:
        return _waited(tool.call(arguments, context), tool.timeout, tool)
    with_variables = copy_context().run
    pool = ThreadPoolExecutor(1, "antiphon-tool")
    try:
        return pool.submit(with_variables, tool.call, arguments, context).result(tool.timeout)
    except FutureTimeoutError:
        raise _late(tool) from None
    finally:
        # A call that is stuck keeps its thread, not the caller.
        pool.shutdown(wait=False)


async def use_async(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
    """`use` on the caller's event loop; a blocking tool runs on a thread.

    Raises:
        RunTimeout: it took longer than it may (``tool_timeout``).
    """
    if tool.is_async:
        waiting = tool.call(arguments, context)
    else:
        waiting = asyncio.to_thread(tool.call, arguments, context)
    try:
        async with asyncio.timeout(tool.timeout):
            value = await waiting
            return await value if inspect.isawaitable(value) else value
    except TimeoutError:
        raise _late(tool) from None


def _waited(awaitable: Any, timeout: float | None, tool: Tool) -> Any:
    async def wait() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(wait(), _loop.running())
    try:
        return future.result(timeout)
    except FutureTimeoutError:
        if not future.done():
            future.cancel()
            raise _late(tool) from None
        raise
    except BaseException:
        future.cancel()
        raise


def _late(tool: Tool) -> RunTimeout:
    return RunTimeout(
        f"tool `{tool.name}` took longer than its time-out in seconds: {tool.timeout}",
        code="tool_timeout",
        details={"tool": tool.name},
    )
