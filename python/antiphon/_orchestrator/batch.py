"""Many runs at a time, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from antiphon._batch import call_in_threads, gather
from antiphon._progress import BatchProgressBar
from antiphon._run_group import RunGroup, current_group
from antiphon._sync_async import Operation, Routine, run_async, run_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


class HasOutcome(Protocol):
    """A result."""

    @property
    def outcome(self) -> str:
        """How the run ended."""


_R = TypeVar("_R", bound=HasOutcome)


def run_all(
    inputs: Sequence[Any],
    one: Callable[[Any], Routine[_R]],
    *,
    concurrency: int,
    label: str,
) -> Routine[list[_R]]:
    """The results of `one`, in the order of the inputs; an exception of any cancels them all.

    Args:
        inputs: the inputs.
        one: runs an input.
        concurrency: how many run at a time.
        label: the text of the progress bar.
    """
    results: list[_R] = yield Operation(
        lambda: _in_threads(inputs, one, concurrency, label),
        lambda: gather_results(
            lambda given: run_async(one(given)), inputs, concurrency=concurrency, label=label
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
    one: Callable[[Any], Routine[_R]],
    concurrency: int,
    label: str,
) -> list[_R]:
    group = RunGroup(current_group())

    def call(given: Any) -> _R:
        return group.around(lambda: run_sync(one(given)))

    with BatchProgressBar(len(inputs), label) as progress:
        return call_in_threads(
            call, inputs, concurrency, done=_advancing(progress), cancel=group.stop
        )


def _advancing(progress: BatchProgressBar) -> Callable[[HasOutcome], None]:
    return lambda result: progress.advance(failed=result.outcome == "error")
