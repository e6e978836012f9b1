"""Waits for something that happens, and work that takes time: no test sleeps by itself."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

ENOUGH = 10
"""Seconds that nothing here needs: a longer wait is in vain."""


async def forever() -> None:
    """Wait to be cancelled.

    Raises:
        AssertionError: nobody did.
    """
    await asyncio.sleep(ENOUGH)
    raise AssertionError("nobody ended this wait")


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it never did.
    """
    for _ in range(100 * ENOUGH):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")


def happens(condition: Callable[[], Any], seconds: float = 60, *, every: float = 0.002) -> bool:
    """Whether something holds, now or within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


async def reach(signal: Coroutine[Any, Any, Any], run: "asyncio.Task[Any]") -> None:
    """Wait for `signal`, which `run` is to cause; a run that ends before it raises its own error.

    Raises:
        AssertionError: the run ended too soon, or the signal never came.
    """
    waiting = asyncio.create_task(signal)
    await asyncio.wait({waiting, run}, timeout=ENOUGH, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        return
    waiting.cancel()
    result = run.result() if run.done() else "it still runs"
    raise AssertionError(f"the signal did not come, the run gave: {result}")


def take_time(seconds: float) -> None:
    """Simulate work that takes time, where no result depends on how long exactly."""
    time.sleep(seconds)


async def atake_time(seconds: float) -> None:
    """Simulate work that awaits something for a time; no result depends on how long exactly."""
    await asyncio.sleep(seconds)
