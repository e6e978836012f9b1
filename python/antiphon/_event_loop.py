"""A background event loop, for async code that is called from sync code.

asyncio is imported on first use: that takes longer than importing the rest of antiphon.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._antiphon import current_context

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future

_T = TypeVar("_T")

_lock = threading.Lock()
_loops: list[_LoopThread] = []
_here = threading.local()
"""Has the `level` of a thread, as far as it is known."""


class _CarriedExit(Exception):
    """Carries an exit out of a task: a loop whose task raises the exit itself stops."""

    def __init__(self, error: KeyboardInterrupt | SystemExit) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


class _LoopThread:
    """A loop with a thread of its own."""

    def __init__(self) -> None:
        import asyncio

        self.loop = asyncio.new_event_loop()
        self.blocked_by = 0
        """How many sync calls of antiphon, each within the one before, its thread waits for."""
        name = "antiphon-loop"
        self._thread = threading.Thread(target=self._keep_running, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Whether this is its thread."""
        return self._thread.ident == threading.get_ident()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def _keep_running(self) -> None:
        process = os.getpid()
        # A task that a user's code has started may raise an exit, which stops a loop; who awaits
        # the task receives it when the loop runs again. A fork ends.
        while os.getpid() == process and not self.loop.is_closed():
            with suppress(KeyboardInterrupt, SystemExit):
                self.loop.run_forever()


def _forget() -> None:
    """Drops the loops in a fork, which has none of its parent's threads."""
    global _lock  # noqa: PLW0603 - one per process
    _lock = threading.Lock()
    _loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def running() -> asyncio.AbstractEventLoop:
    """Return the loop for this thread; the first call starts the loop's own thread.

    A caller in a running loop (a notebook cell) can block on it, because it uses another thread.
    While async code on it waits for a sync call of antiphon, it can run nothing else: async code
    within that call gets a second loop, and so on. Other runs stay on their loop and wait, because
    what they use may belong to it. Of a thread of the engine it is not known for which run it
    works: it gets the first loop that waits for nothing.
    """
    with _lock:
        level = level_here()
        level = _free_from(0) if level is None else level
        if level < len(_loops) and _loops[level].is_alive:
            return _loops[level].loop
        made = _LoopThread()
        _loops[level : level + 1] = [made]
        return made.loop


def level_here() -> int | None:
    """The index of the loop for code of this thread; ``None`` if that is not known."""
    level: int | None = getattr(_here, "level", None)
    if level is not None or not _loops:
        return level
    own = next((index for index, one in enumerate(_loops) if one.is_here), None)
    return None if own is None else _free_from(own + 1)


def level_of_caller() -> int:
    """The index of the loop for a run that this thread begins.

    No loop can wait for itself: those that wait for this thread are blocked, and stay so.
    """
    level = level_here()
    if level is not None:
        return level
    if not _loops:
        return 0
    try:
        current_context()
    except RuntimeError:
        return 0  # a thread of the user's, for which no loop waits
    return _free_from(0)


def _free_from(start: int) -> int:
    """The index of the first loop from there that waits for nothing; it may have to be made."""
    free = (index for index in range(start, len(_loops)) if not _loops[index].blocked_by)
    return next(free, max(start, len(_loops)))


class LoopScope:
    """Around code of a run, on whatever thread: async code within it uses the loop of that index.

    Args:
        level: the index; ``None`` if it is not known.
    """

    __slots__ = ("_before", "_level")

    def __init__(self, level: int | None) -> None:
        self._level = level

    def __enter__(self) -> None:
        self._before = getattr(_here, "level", None)
        _here.level = self._level

    def __exit__(self, *_: object) -> None:
        _here.level = self._before


def blocking_call(level: int | None, call: Callable[..., _T], *arguments: Any) -> _T:
    """Makes a sync call of antiphon, which may wait for async code on the loop `level`."""
    blocked = next((one for one in _loops if one.is_here), None) if _loops else None
    # A `LoopScope` would cost as much as a node's turn.
    before = getattr(_here, "level", None)
    _here.level = level
    if blocked is not None:
        blocked.blocked_by += 1
    try:
        return call(*arguments)
    finally:
        _here.level = before
        if blocked is not None:
            blocked.blocked_by -= 1


def run_until_complete(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine on a loop of this thread, whatever exits other tasks of it raise."""
    task = loop.create_task(coroutine)
    while True:
        try:
            return loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit):
            if task.done():
                raise


def on_own_loop() -> bool:
    """Whether this coroutine runs on a loop of antiphon, where sync code waits for it."""
    return any(one.is_here for one in _loops)


def submit(awaitable: Awaitable[Any], loop: asyncio.AbstractEventLoop | None = None) -> Future[Any]:
    """Schedule an awaitable on a loop of another thread. Default: antiphon's own.

    `result_of` waits for it.
    """
    import asyncio

    process = os.getpid()

    async def wait() -> Any:
        try:
            return await awaitable
        except (KeyboardInterrupt, SystemExit) as error:
            if os.getpid() != process:
                raise  # it ends a forked child, where nobody waits for the result
            raise _CarriedExit(error) from error

    return asyncio.run_coroutine_threadsafe(wait(), loop or running())


def result_of(future: Future[Any], timeout: float | None = None) -> Any:
    """Waits for what `submit` has scheduled; raises what the awaitable raises, exits too.

    Raises:
        TimeoutError: it takes longer than `timeout` seconds.
    """
    try:
        return future.result(timeout)
    except _CarriedExit as carried:
        error = carried.error
    raise error  # here, its own cause and context stay


def run_blocking(
    awaitable: Awaitable[Any],
    *,
    loop: asyncio.AbstractEventLoop | None = None,
    timeout: float | None = None,
    late: Callable[[], Exception] = TimeoutError,
) -> Any:
    """Waits for an awaitable on this thread; interrupting the wait cancels it.

    `late` makes the exception that is raised after `timeout` seconds.
    """
    future = submit(awaitable, loop)
    try:
        return blocking_call(level_here(), result_of, future, timeout)
    except TimeoutError:
        # The awaitable itself may raise the same.
        if future.done():
            raise
        future.cancel()
        raise late() from None
    except BaseException:
        future.cancel()
        raise


def is_async(function: Any) -> bool:
    """Whether calling it returns a coroutine; also for partials and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
