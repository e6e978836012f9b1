"""A background event loop, for async code that is called from sync code.

asyncio is imported on first use: that takes longer than importing the rest of antiphon.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _forget() -> None:
    """Drops the loop in a fork, which has none of its parent's threads."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def running() -> asyncio.AbstractEventLoop:
    """Return the loop; the first call starts its thread.

    A caller in a running loop (a notebook cell) can block on it, because it uses
    another thread.
    """
    import asyncio

    global _loop  # noqa: PLW0603 - one per process
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="antiphon-loop", daemon=True).start()
        return _loop


def on_own_loop() -> bool:
    """Whether this coroutine runs on antiphon's loop, where sync code waits for it."""
    import asyncio

    return asyncio.get_running_loop() is _loop


def submit(awaitable: Awaitable[Any], loop: asyncio.AbstractEventLoop | None = None) -> Future[Any]:
    """Schedule an awaitable on a loop of another thread. Default: antiphon's own."""
    import asyncio

    async def wait() -> Any:
        return await awaitable

    return asyncio.run_coroutine_threadsafe(wait(), loop or running())


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
        return future.result(timeout)
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
