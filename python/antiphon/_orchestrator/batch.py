"""Many runs at a time, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from antiphon._batch import call_in_threads, gather
from antiphon._progress import BatchProgressBar
from antiphon._sync_async import Operation, Routine, run_async, run_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from antiphon._antiphon import Run


class HasOutcome(Protocol):
    """A result."""

    @property
    def outcome(self) -> str:
        """How the run ended."""


_R = TypeVar("_R", bound=HasOutcome)


def run_all(
    inputs: Sequence[Any],
    one: Callable[[Any, Callable[[Run], object]], Routine[_R]],
    *,
    concurrency: int,
    label: str,
) -> Routine[list[_R]]:
    """The results of `one`, in the order of the inputs; an exception of any cancels them all.

    Args:
        inputs: the inputs.
        one: runs an input, and passes on the run as soon as it has started.
        concurrency: how many run at a time.
        label: the text of the progress bar.
    """
    results: list[_R] = yield Operation(
        lambda: _in_threads(inputs, one, concurrency, label),
        lambda: gather_results(
            lambda given: run_async(one(given, bool)), inputs, concurrency=concurrency, label=label
        ),
    )
    return results


async def gather_results(
    one: Callable[[Any], Awaitable[_R]], inputs: Sequence[Any], *, concurrency: int, label: str
) -> list[_R]:
    """The results of a coroutine function, in the order of the inputs, with a progress bar."""
    with BatchProgressBar(len(inputs), label) as progress:
        return await gather(one, inputs, concurrency, done=_advancing(progress))


def _in_threads(
    inputs: Sequence[Any],
    one: Callable[[Any, Callable[[Run], object]], Routine[_R]],
    concurrency: int,
    label: str,
) -> list[_R]:
    started: list[Run] = []

    def cancel() -> None:
        for run in started:
            if run.outcome == "running":
                run.cancel("the batch was cancelled")

    def call(given: Any) -> _R:
        return run_sync(one(given, started.append))

    with BatchProgressBar(len(inputs), label) as progress:
        return call_in_threads(call, inputs, concurrency, done=_advancing(progress), cancel=cancel)


def _advancing(progress: BatchProgressBar) -> Callable[[HasOutcome], None]:
    return lambda result: progress.advance(failed=result.outcome == "error")
