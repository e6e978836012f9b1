"""Host functions: the tools that code in a sandbox may call, and nothing else."""

from __future__ import annotations

import asyncio
import copy
import inspect
import threading
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from antiphon._event_loop import running
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
from antiphon.sandbox._guest.decode import Decoder, Malformed
from antiphon.sandbox._host_calls import CALL_SECONDS, CallFailed
from antiphon.sandbox._job import check_name, tag
from antiphon.sandbox._table import SandboxTable, is_tabular, table_bytes
from antiphon.tools import Tool, ToolContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["HostFunctions", "read_arguments", "showable_arguments"]

_RESULT = 2**20
"""Bytes of a result as JSON."""


class HostFunctions:
    """The tools that code in a sandbox may call, by name.

    Attributes:
        declared: name and docstring of each, for jobs.

    Args:
        tools: anything that `Tool.from_any` takes.

    Raises:
        ValidationError: `Tool` refuses one, two have the same name, or a name is none for a
            function.
    """

    def __init__(self, tools: Iterable[Any]) -> None:
        self._tools = {check_name(tool.name): tool for tool in Tool.collect(tools)}
        self.declared = [
            {"name": name, "doc": tool.description} for name, tool in self._tools.items()
        ]

    def named(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            CallFailed: it is not granted.
        """
        if name not in self._tools:
            raise CallFailed("NameError", f"this function is not granted: {name}")
        return self._tools[name]

    def refuse_persons(self, where: str) -> None:
        """Refuses tools that a person has to approve of, if runs cannot pause there.

        Raises:
            ValidationError: there is one (``approval_unavailable``).
        """
        way_out = 'make it with `Sandbox(engine="monty", snapshot_key=…)`'
        refuse_persons(self._tools.values(), where, way_out)

    def for_run(
        self, loop: asyncio.AbstractEventLoop | None, made: Mapping[str, int] | None = None
    ) -> _Run:
        """What answers the calls of one run: the limits of tools count by run.

        Args:
            loop: where async tools run. Default: antiphon's own.
            made: calls that the run has made before it paused, by tool.
        """
        return _Run(self, loop, made or {})


class _Run:
    """Answers the calls of one run.

    Args:
        functions: the granted tools.
        loop: where async tools run.
        made: calls that were made before, by tool.
    """

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
        """Calls a tool with tagged arguments; waits for it, but not longer than it may take.

        Raises:
            CallFailed: it is not granted, was not approved, was called too often, failed or took
                too long; with what the guest may know of that.
        """
        tool = self._functions.named(name)
        arguments = read_arguments(tool, args, kwargs)
        number = uuid.uuid4().hex
        try:
            arguments = self._approved(tool, arguments, number)
        except Exception as error:
            raise CallFailed.of(error) from error
        return self.make(tool, arguments, number)

    def make(self, tool: Tool, arguments: dict[str, Any], number: str | None = None) -> Any:
        """Makes a call that is approved, if approval has to be.

        Args:
            tool: what is called.
            arguments: by name.
            number: what the call is known by. Default: a new one.

        Raises:
            CallFailed: as calling this does.
        """
        self._count(tool)
        try:
            return _tagged(tool.name, self._called(tool, arguments, number or uuid.uuid4().hex))
        except CallFailed:
            raise
        except Exception as error:
            raise CallFailed.of(error) from error

    def _approved(self, tool: Tool, arguments: dict[str, Any], number: str) -> dict[str, Any]:
        """Asks what decides about a tool's calls; gives what was shown, to be called with."""
        if tool.approval is False:
            return arguments
        arguments = showable_arguments(tool, arguments)
        approve = approver(tool)
        if approve is None:
            raise refused(tool.name, "a person has to approve of it, and this run cannot pause")
        # The approver's own copy: what it changes is called by nobody.
        call = ToolCall(name=tool.name, arguments=copy.deepcopy(arguments), call_id=number)
        enforce(tool.name, decide_call(approve, call, self._loop))
        return arguments

    def _count(self, tool: Tool) -> None:
        with self._lock:
            count = self.made[tool.name] = self.made.get(tool.name, 0) + 1
        if tool.max_calls is not None and count > tool.max_calls:
            message = f"`{tool.name}` may be called {tool.max_calls} times in one run"
            raise CallFailed("RuntimeError", message)

    def _called(self, tool: Tool, arguments: dict[str, Any], number: str) -> Any:
        seconds = min(CALL_SECONDS, tool.timeout or CALL_SECONDS)
        context = ToolContext(
            name=tool.name,
            call_id=number,
            idempotency_key=number,
            deadline=datetime.now(UTC) + timedelta(seconds=seconds),
        )

        def call() -> Any:
            return tool.call(arguments, context)

        # Without a time-out of its own it may stay here: the engine does not wait for ever.
        direct = tool.is_async or tool.timeout is None
        found = call() if direct else _on_a_thread(tool, seconds, call)
        return self._awaited(tool, seconds, found) if inspect.isawaitable(found) else found

    def _awaited(self, tool: Tool, seconds: float, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        future = asyncio.run_coroutine_threadsafe(wait(), self._loop or running())
        try:
            return future.result(seconds)
        except TimeoutError as error:
            if not future.cancel():
                raise  # the tool's own
            raise _late(tool, seconds) from error


def read_arguments(tool: Tool, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, from what the guest sent.

    Raises:
        CallFailed: they cannot be read, or are not those of the tool.
    """
    return _arguments(tool, _decoded(args), _decoded(kwargs))


def showable_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as an approver sees them, once it is known that they fit the tool.

    Raises:
        ValidationError: they do not fit, or JSON has no form for one of them.
    """
    tool.check(arguments)
    shown = json_arguments(tool, arguments)
    tool.check(shown)
    return shown


def _decoded(tagged: Any) -> Any:
    if type(tagged) is dict:
        return {name: _decoded_one(value) for name, value in tagged.items()}
    return [_decoded_one(value) for value in tagged]


def _decoded_one(tagged: Any) -> Any:
    try:
        return Decoder(opaque=False).decode(tagged)
    except Malformed as problem:
        raise CallFailed("TypeError", f"an argument cannot be read: {problem}") from problem


def _arguments(tool: Tool, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name, as a model would have given them."""
    names = list(tool.parameters.get("properties", {}))
    if len(args) > len(names):
        message = f"`{tool.name}` takes {len(names)} arguments, and was given {len(args)}"
        raise CallFailed("TypeError", message)
    arguments = dict(zip(names, args, strict=False))
    if twice := arguments.keys() & kwargs.keys():
        message = f"`{tool.name}` was given an argument twice: {min(twice)}"
        raise CallFailed("TypeError", message)
    return arguments | kwargs


def _on_a_thread(tool: Tool, seconds: float, call: Any) -> Any:
    done = threading.Event()
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = call()
        except BaseException as error:  # noqa: BLE001 - it is passed on
            outcome["error"] = error
        done.set()

    threading.Thread(target=work, name=f"antiphon-tool-{tool.name}", daemon=True).start()
    if not done.wait(seconds):
        raise _late(tool, seconds)
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _late(tool: Tool, seconds: float) -> CallFailed:
    return CallFailed("TimeoutError", f"`{tool.name}` took longer than its {seconds:g} s")


def _tagged(name: str, value: Any) -> Any:
    """A tool's result; a table goes in as its columns."""
    try:
        if is_tabular(value):
            value = SandboxTable(table_bytes(name, value)).to_columns()
        return tag(value, _RESULT)
    except (TooLarge, TypeError, ValidationError, ModuleNotFoundError) as problem:
        message = f"the result of `{name}` cannot go in: {problem}"
        raise CallFailed("ValueError", message) from problem
