"""A background event loop, for async code that is called from sync code.

asyncio is imported on first use: that takes longer than importing the rest of antiphon.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

_T = TypeVar("_T")

_lock = threading.Lock()
_loops: list[_LoopThread] = []
_NOWHERE = nullcontext()


class _CarriedExit(Exception):
    """Carries an exit out of a task: a loop whose task raises the exit itself stops."""

    def __init__(self, error: KeyboardInterrupt | SystemExit) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


class _LoopThread:
    """A loop with a thread of its own; as a context manager, a sync call that blocks it."""

    def __init__(self) -> None:
        import asyncio

        self.loop = asyncio.new_event_loop()
        self._blocked_by = 0
        name = "antiphon-loop"
        self._thread = threading.Thread(target=self._keep_running, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Whether this is its thread."""
        return self._thread.ident == threading.get_ident()

    @property
    def is_free(self) -> bool:
        """Whether it can run more code: its thread lives, and waits for no call of antiphon."""
        return not self._blocked_by and not self.is_here and self._thread.is_alive()

    def __enter__(self) -> None:
        self._blocked_by += 1

    def __exit__(self, *_: object) -> None:
        self._blocked_by -= 1

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
    """Return the loop; the first call starts its thread.

    A caller in a running loop (a notebook cell) can block on it, because it uses another thread.
    While async code on it waits for a sync call of antiphon, it can run nothing else: async code
    within that call gets a second loop, and so on.
    """
    with _lock:
        for one in _loops:
            if one.is_free:
                return one.loop
        _loops.append(_LoopThread())
        return _loops[-1].loop


def blocking() -> AbstractContextManager[None]:
    """Around a sync call of antiphon that may wait for async code."""
    return next((one for one in _loops if one.is_here), _NOWHERE)


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
        with blocking():
            return result_of(future, timeout)
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
