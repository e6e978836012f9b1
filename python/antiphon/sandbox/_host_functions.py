"""Host functions: the tools that code in a sandbox may call."""

from __future__ import annotations

import copy
import inspect
import threading
import uuid
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from antiphon._event_loop import run_blocking
from antiphon._tool.approval import (
    ToolCall,
    approver,
    decide_call,
    enforce,
    json_arguments,
    refuse_persons,
    refused,
)
from antiphon.errors import ValidationError
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._guest.decode import Decoder, MalformedValue
from antiphon.sandbox._host_calls import CALL_SECONDS, CallFailed
from antiphon.sandbox._job import check_name, tag
from antiphon.sandbox._table import SandboxTable, is_tabular, table_bytes
from antiphon.tools import Tool, ToolContext

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["HostFunctions", "read_arguments", "showable_arguments"]

_RESULT = 2**20
"""Bytes of a result as JSON."""


class HostFunctions:
    """The tools that code in a sandbox may call; `declared` describes them for jobs."""

    def __init__(self, tools: Iterable[Any]) -> None:
        self._tools = {check_name(tool.name): tool for tool in Tool.collect(tools)}
        self.declared = [
            {"name": name, "doc": tool.description} for name, tool in self._tools.items()
        ]

    def named(self, name: str) -> Tool:
        """Return the tool of that name, or raise `CallFailed`."""
        if name not in self._tools:
            raise CallFailed("NameError", f"this function is not granted: {name}")
        return self._tools[name]

    def refuse_persons(self, where: str) -> None:
        """Refuse tools that need approval by a person, for a sandbox that cannot pause."""
        way_out = 'pass `engine="monty", snapshot_key=secrets.token_bytes(32)`'
        refuse_persons(self._tools.values(), where, way_out)

    def for_run(
        self, loop: asyncio.AbstractEventLoop | None, made: Mapping[str, int] | None = None
    ) -> _RunCalls:
        """Return what answers the calls of one run; call limits apply to each run.

        Args:
            loop: the loop of async tools. Default: antiphon's own.
            made: number of calls before the run paused, by tool.
        """
        return _RunCalls(self, loop, made or {})


class _RunCalls:
    """Answers the calls of one run; `made` counts them by tool."""

    def __init__(
        self,
        functions: HostFunctions,
        loop: asyncio.AbstractEventLoop | None,
        made: Mapping[str, int],
    ) -> None:
        self._functions, self._loop = functions, loop
        self._lock = threading.Lock()
        self.made = dict(made)

    def __call__(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a tool with tagged arguments, and wait for it within its time-out.

        Raises:
            CallFailed: the call is not allowed, not approved, failed or timed out; contains only
                what the guest may know.
        """
        tool = self._functions.named(name)
        arguments = read_arguments(tool, args, kwargs)
        number = uuid.uuid4().hex
        try:
            arguments = self._approve(tool, arguments, number)
        except Exception as error:
            raise CallFailed.of(error) from error
        return self.make(tool, arguments, number)

    def make(self, tool: Tool, arguments: dict[str, Any], number: str | None = None) -> Any:
        """Make a call that needs no approval, or has it; raise `CallFailed` as `__call__`."""
        self._count(tool)
        try:
            return _tag_result(
                tool.name, self._call_tool(tool, arguments, number or uuid.uuid4().hex)
            )
        except CallFailed:
            raise
        except Exception as error:
            raise CallFailed.of(error) from error

    def _approve(self, tool: Tool, arguments: dict[str, Any], number: str) -> dict[str, Any]:
        """Ask the approval function, if any; return the arguments as they were shown to it."""
        if tool.approval is False:
            return arguments
        arguments = showable_arguments(tool, arguments)
        approve = approver(tool)
        if approve is None:
            raise refused(tool.name, "it needs approval by a person, and this run cannot pause")
        # A copy: the approver must not change what is called.
        call = ToolCall(name=tool.name, arguments=copy.deepcopy(arguments), call_id=number)
        enforce(tool.name, decide_call(approve, call, self._loop))
        return arguments

    def _count(self, tool: Tool) -> None:
        with self._lock:
            count = self.made[tool.name] = self.made.get(tool.name, 0) + 1
        if tool.max_calls is not None and count > tool.max_calls:
            message = f"`{tool.name}` may be called {tool.max_calls} times in one run"
            raise CallFailed("RuntimeError", message)

    def _call_tool(self, tool: Tool, arguments: dict[str, Any], number: str) -> Any:
        seconds = min(CALL_SECONDS, tool.timeout or CALL_SECONDS)
        context = ToolContext(
            name=tool.name,
            call_id=number,
            idempotency_key=number,
            deadline=datetime.now(UTC) + timedelta(seconds=seconds),
        )

        def call() -> Any:
            return tool.start(arguments, context)

        def late() -> CallFailed:
            return CallFailed("TimeoutError", f"`{tool.name}` took longer than its {seconds:g} s")

        # Without a time-out it needs no thread: the engine bounds the wait.
        direct = tool.is_async or tool.timeout is None
        found = call() if direct else _on_a_thread(tool.name, call, seconds, late)
        if inspect.isawaitable(found):
            return run_blocking(found, loop=self._loop, timeout=seconds, late=late)
        return found


def read_arguments(tool: Tool, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Decode the arguments of a call, by name; raise `CallFailed` if that fails."""
    return _arguments(tool, _decode(args), _decode(kwargs))


def showable_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Validate arguments and return them as an approver sees them.

    Raises:
        ValidationError: they do not fit the tool, or are not representable as JSON.
    """
    tool.check(arguments)
    shown = json_arguments(tool, arguments)
    tool.check(shown)
    return shown


def _decode(tagged: Any) -> Any:
    if type(tagged) is dict:
        return {name: _decode_one(value) for name, value in tagged.items()}
    return [_decode_one(value) for value in tagged]


def _decode_one(tagged: Any) -> Any:
    try:
        return Decoder(opaque=False).decode(tagged)
    except MalformedValue as problem:
        raise CallFailed("TypeError", f"an argument cannot be read: {problem}") from problem


def _arguments(tool: Tool, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments by name, as a model would pass them."""
    names = list(tool.parameters.get("properties", {}))
    if len(args) > len(names):
        message = f"`{tool.name}` takes {len(names)} arguments, and was given {len(args)}"
        raise CallFailed("TypeError", message)
    arguments = dict(zip(names, args, strict=False))
    if twice := arguments.keys() & kwargs.keys():
        message = f"`{tool.name}` was given an argument twice: {min(twice)}"
        raise CallFailed("TypeError", message)
    return arguments | kwargs


def _on_a_thread(
    name: str, call: Callable[[], Any], seconds: float, late: Callable[[], Exception]
) -> Any:
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            future.set_exception(error)

    threading.Thread(target=work, name=f"antiphon-tool-{name}", daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        # The tool itself may raise the same.
        if future.done():
            raise
        raise late() from None


def _tag_result(name: str, value: Any) -> Any:
    """Encode a tool's result; a table as its columns."""
    try:
        if is_tabular(value):
            value = SandboxTable(table_bytes(name, value)).to_columns()
        return tag(value, _RESULT)
    except (TooLarge, TypeError, ValidationError, ModuleNotFoundError) as problem:
        message = f"the result of `{name}` cannot be passed: {problem}"
        raise CallFailed("ValueError", message) from problem
