"""Many questions at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from antiphon._orchestrator.progress import Progress
from antiphon._relay import asks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


class Ended(Protocol):
    """Whatever says how it ended."""

    @property
    def outcome(self) -> str:
        """How."""


class Begun(Protocol):
    """What is under way."""

    @property
    def outcome(self) -> str:
        """``running`` as long as it is."""

    def cancel(self, reason: str) -> object:
        """Stops it."""


_R = TypeVar("_R", bound=Ended)


def batch(
    inputs: Sequence[Any],
    one: Callable[[Any, Callable[[Begun], None]], _R],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """Runs `one` for each input, in threads; an exception of any ends them all.

    Args:
        inputs: the inputs.
        one: runs an input; it passes what is under way on as soon as it has begun.
        concurrency: how many run at a time.
        label: what the progress bar says.

    Returns:
        The results, in the order of the inputs.
    """
    begun: list[Begun] = []
    with Progress(len(inputs), label) as progress:
        pool = ThreadPoolExecutor(max(1, min(concurrency, len(inputs))), "antiphon-batch")
        try:
            futures = [
                pool.submit(copy_context().run, one, given, begun.append) for given in inputs
            ]
            for future in as_completed(futures):
                progress.advance(failed=future.result().outcome == "error")
        except BaseException as error:
            # What runs beside a question ends first; beside a failure it is cancelled.
            asked = asks(error)
            pool.shutdown(wait=asked, cancel_futures=True)
            for run in () if asked else begun:
                if run.outcome == "running":
                    run.cancel("the batch was given up")
            raise
        pool.shutdown()
        return [future.result() for future in futures]


async def abatch(
    inputs: Sequence[Any],
    one: Callable[[Any], Awaitable[_R]],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """`batch` on the caller's event loop."""
    gate = asyncio.Semaphore(concurrency)
    with Progress(len(inputs), label) as progress:

        async def gated(given: Any) -> _R:
            async with gate:
                result = await one(given)
            progress.advance(failed=result.outcome == "error")
            return result

        tasks = [asyncio.ensure_future(gated(given)) for given in inputs]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException as error:
            for task in () if asks(error) else tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
