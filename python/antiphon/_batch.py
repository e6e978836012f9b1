"""Many inputs at a time, in threads or on an event loop."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._event_loop import AtLevel, Blocking, level_of_caller
from antiphon._pause import asks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

_T = TypeVar("_T")


def _ignore(_result: object) -> None: ...


def call_in_threads(
    call: Callable[[Any], _T],
    inputs: Sequence[Any],
    width: int,
    *,
    done: Callable[[_T], object] = _ignore,
    cancel: Callable[[], object] | None = None,
) -> list[_T]:
    """The results of `call`, in the order of the inputs; the first exception ends them all.

    Args:
        call: called once per input, in a copy of the caller's context variables.
        inputs: the inputs.
        width: how many calls run at a time.
        done: called with each result as it arrives.
        cancel: cancels the calls under way after a failure. Default: they end first.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    level = level_of_caller()

    def leveled(given: Any) -> _T:
        with AtLevel(level):
            return call(given)

    pool = ThreadPoolExecutor(max(1, min(width, len(inputs))), "antiphon-batch")
    try:
        futures = [pool.submit(copy_context().run, leveled, given) for given in inputs]
        with Blocking(level_of_caller()):
            for future in as_completed(futures):
                done(future.result())
    except BaseException as error:
        # Calls beside a question end first; those beside a failure are cancelled.
        ends = cancel is None or asks(error)
        pool.shutdown(wait=ends, cancel_futures=True)
        if cancel is not None and not ends:
            cancel()
        raise
    pool.shutdown()
    return [future.result() for future in futures]


async def gather(
    call: Callable[[Any], Awaitable[_T]],
    inputs: Sequence[Any],
    width: int,
    *,
    done: Callable[[_T], object] = _ignore,
) -> list[_T]:
    """`call_in_threads` for a coroutine function, on the caller's event loop."""
    import asyncio  # it takes 20 ms

    gate = asyncio.Semaphore(width)

    async def gated(given: Any) -> _T:
        async with gate:
            result = await call(given)
        done(result)
        return result

    tasks = [asyncio.ensure_future(gated(given)) for given in inputs]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException as error:
        for task in () if asks(error) else tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
