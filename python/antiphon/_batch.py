"""Many inputs at a time, in threads or on an event loop."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._event_loop import LoopScope, blocking_call, level_of_caller
from antiphon._pause import asks

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from concurrent.futures import Future

_T = TypeVar("_T")

_TICK_S = 0.2
"""Seconds after which a waiting thread handles signals at the latest: one that arrives as it begins
to wait, or in another thread, does not wake it."""


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
    from concurrent.futures import Future

    level = level_of_caller()

    def leveled(given: Any) -> _T:
        with LoopScope(level):
            return call(given)

    futures: list[Future[_T]] = [Future() for _ in inputs]
    waiting = deque(
        (future, copy_context(), given) for future, given in zip(futures, inputs, strict=True)
    )
    ended: SimpleQueue[Future[_T]] = SimpleQueue()
    threads = [
        # The end of the process does not wait for an agent that was cancelled.
        threading.Thread(
            target=_work, args=(leveled, waiting, ended), name="antiphon-batch", daemon=True
        )
        for _ in range(min(max(1, width), len(inputs)))
    ]
    try:
        for thread in threads:
            thread.start()
        blocking_call(level, _collect, ended, len(futures), done)
    except BaseException as error:
        waiting.clear()
        # Calls beside a question end first; those beside a failure are cancelled.
        if cancel is not None and not asks(error):
            cancel()
        else:
            _join(threads)
        raise
    _join(threads)
    return [future.result() for future in futures]


def _work(
    call: Callable[[Any], _T],
    waiting: deque[tuple[Future[_T], contextvars.Context, Any]],
    ended: SimpleQueue[Future[_T]],
) -> None:
    """Makes calls until none waits."""
    with suppress(IndexError):
        while True:
            future, variables, given = waiting.popleft()
            try:
                result = variables.run(call, given)
            except BaseException as error:  # noqa: BLE001 - who waits for the call raises it
                future.set_exception(error)
            else:
                future.set_result(result)
            ended.put(future)


def _collect(ended: SimpleQueue[Future[_T]], count: int, done: Callable[[_T], object]) -> None:
    for _ in range(count):
        done(_next(ended).result())


def _next(ended: SimpleQueue[Future[_T]]) -> Future[_T]:
    """Waits for a call to end."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=_TICK_S)


def _join(threads: Iterable[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(_TICK_S)


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
