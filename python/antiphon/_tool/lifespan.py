"""What toolsets open for a run, and close when it ends."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from antiphon._event_loop import result_of, submit
from antiphon._sync_async import Operation, Routine
from antiphon.errors import ToolError, ValidationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable
    from concurrent.futures import Future

_T = TypeVar("_T")


class HasLifespan(Protocol):
    """A toolset, as a run opens it."""

    @property
    def lifespan(self) -> Callable[[], Any] | None:
        """Returns a context manager."""

    resources: dict[int, Any]
    """What its lifespan has yielded, by run."""


class ToolsetMember(Protocol):
    """A tool that may belong to a toolset."""

    name: str
    toolset: HasLifespan | None


class Lifespans:
    """The lifespans of the toolsets of one run.

    Args:
        tools: the tools of the run.
        run: the run, or an object that stands for it; compared by identity.
    """

    def __init__(self, tools: Iterable[ToolsetMember], run: object) -> None:
        found = {id(one.toolset): one.toolset for one in tools if one.toolset is not None}
        self._toolsets: list[HasLifespan] = [
            one for one in found.values() if one.lifespan is not None
        ]
        self._run = run
        self._open: list[tuple[HasLifespan, _ContextManager]] = []

    def around(self, routine: Routine[_T]) -> Routine[_T]:
        """Runs a routine while the toolsets are open."""
        yield from self.enter()
        try:
            result = yield from routine
        except GeneratorExit:  # nobody waits for it any more
            raise
        except BaseException as error:
            yield from self.leave(error)
            raise
        yield from self.leave()
        return result

    def enter(self) -> Routine[None]:
        """Opens the toolsets in their order; if one fails, the others are closed again."""
        try:
            while self._toolsets:
                toolset = self._toolsets.pop(0)
                managed = _ContextManager(_manager_of(toolset))
                resource = yield managed.entering()
                toolset.resources[id(self._run)] = resource
                self._open.append((toolset, managed))
        except GeneratorExit:
            raise
        except BaseException as error:
            self._toolsets.clear()
            yield from self.leave(error)
            raise

    def leave(self, error: BaseException | None = None) -> Routine[None]:
        """Closes the toolsets in reverse order; the first failure is raised in the end."""
        failed: list[Exception] = []
        while self._open:
            toolset, managed = self._open.pop()
            try:
                yield managed.leaving(error)
            except Exception as raised:  # noqa: BLE001 - a user's code may fail in any way
                failed += [] if raised is error else [raised]
            finally:
                toolset.resources.pop(id(self._run), None)
        if failed:
            raise failed[0]


def resource_of(tool: ToolsetMember, run: object) -> Any:
    """What the toolset of a tool has opened for a run; ``None`` if it opens nothing.

    Raises:
        ToolError: the toolset is not open (``tool_context``).
    """
    toolset = tool.toolset
    if toolset is None or toolset.lifespan is None:
        return None
    if id(run) not in toolset.resources:
        raise ToolError(
            f"the toolset of the tool is not open: {tool.name}",
            code="tool_context",
            details={"tool": tool.name},
            hint="only agents and ready systems that list the toolset in `tools` open it",
        )
    return toolset.resources[id(run)]


def read_lifespan(given: Any) -> Callable[[], Any] | None:
    """The lifespan of a toolset.

    Raises:
        ValidationError: it is no function (``tool_option``).
    """
    if given is None or callable(given):
        return given  # type: ignore[no-any-return]
    raise _unfit("must be a function that returns a context manager", given)


def _manager_of(toolset: HasLifespan) -> Any:
    made = toolset.lifespan() if toolset.lifespan is not None else None
    if hasattr(made, "__aenter__") or hasattr(made, "__enter__"):
        return made
    raise _unfit("must return a context manager", made)


def _unfit(complaint: str, found: Any) -> ValidationError:
    return ValidationError(
        f"`lifespan` of a toolset {complaint}: {type(found).__name__}",
        code="tool_option",
        details={"option": "lifespan"},
        hint="decorate a generator function with `contextlib.contextmanager`, or an async one "
        "with `contextlib.asynccontextmanager`",
    )


class _ContextManager:
    """A context manager, sync or async, for sync and async callers."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._held: _HeldOpen | None = None

    def entering(self) -> Operation:
        """Enters it."""
        manager = self._manager
        if not hasattr(manager, "__aenter__"):
            return Operation(manager.__enter__, lambda: _on_thread(manager.__enter__))
        self._held = _HeldOpen(manager)
        return Operation(self._held.enter, self._enter_here)

    async def _enter_here(self) -> Any:
        self._held = None
        return await self._manager.__aenter__()

    def leaving(self, error: BaseException | None) -> Operation:
        """Leaves it after an error, or without one."""
        manager, held = self._manager, self._held
        exc_info: tuple[Any, ...] = (None, None, None)
        if error is not None:
            exc_info = (type(error), error, error.__traceback__)
        if held is not None:
            return Operation(lambda: held.leave(error), lambda: _on_thread(held.leave, error))
        if hasattr(manager, "__aexit__"):
            leave = functools.partial(manager.__aexit__, *exc_info)
            return Operation(leave, leave)
        leave = functools.partial(manager.__exit__, *exc_info)
        return Operation(leave, lambda: _on_thread(leave))


def _on_thread(call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
    import asyncio  # it takes 20 ms

    return asyncio.to_thread(call, *args)


class _HeldOpen:
    """An async context manager on antiphon's own event loop.

    One task enters and leaves it, because cancel scopes within it belong to a task.
    """

    _task: Future[Any]
    _loop: asyncio.AbstractEventLoop
    _left: asyncio.Event

    def __init__(self, manager: Any) -> None:
        from concurrent.futures import Future

        self._manager = manager
        self._opened: Future[Any] = Future()
        self._error: BaseException | None = None

    def enter(self) -> Any:
        """Enters it and waits."""
        self._task = submit(self._hold())
        try:
            return self._opened.result()
        except BaseException:
            self._task.cancel()
            raise

    def leave(self, error: BaseException | None) -> None:
        """Leaves it and waits; after an interrupt it sees a cancellation."""
        import asyncio  # it takes 20 ms

        is_plain = error is None or isinstance(error, Exception)
        self._error = error if is_plain else asyncio.CancelledError()
        self._loop.call_soon_threadsafe(self._left.set)
        result_of(self._task)

    async def _hold(self) -> None:
        import asyncio  # it takes 20 ms

        self._loop, self._left = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self._manager as resource:
                self._opened.set_result(resource)
                await self._left.wait()
                self._fail()
        except BaseException as raised:
            if not self._opened.done():
                self._opened.set_exception(raised)
            elif raised is not self._error:
                raise

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error
