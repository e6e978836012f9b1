"""Work of several steps, written once for callers that wait and callers that await.

A generator yields results that are pending, and is sent them when they are there. Anything else
that it yields is for the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from antiphon._antiphon import PendingResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

    from langgraph.checkpoint.base import CheckpointTuple

_T = TypeVar("_T")

Steps: TypeAlias = "Generator[PendingResult, Any, _T]"
"""Yields nothing but pending results."""

ListingSteps: TypeAlias = "Generator[PendingResult | CheckpointTuple, Any, None]"
"""Yields pending results, and the checkpoints of a list."""


def iterate(steps: ListingSteps) -> Iterator[CheckpointTuple]:
    """The checkpoints that the steps yield, in between which this waits."""
    given: Any = None
    while (step := _send(steps, given)) is not None:
        if isinstance(step, PendingResult):
            given = step.wait()
        else:
            given = None
            yield step


async def aiterate(steps: ListingSteps) -> AsyncIterator[CheckpointTuple]:
    """`iterate` on the caller's event loop."""
    given: Any = None
    while (step := _send(steps, given)) is not None:
        if isinstance(step, PendingResult):
            given = await step
        else:
            given = None
            yield step


def run(steps: Steps[None]) -> None:
    """Takes all steps, and waits for each."""
    for _ in iterate(steps):
        pass


async def arun(steps: Steps[None]) -> None:
    """`run` on the caller's event loop."""
    async for _ in aiterate(steps):
        pass


def _send(steps: ListingSteps, given: Any) -> PendingResult | CheckpointTuple | None:
    try:
        return steps.send(given)
    except StopIteration:
        return None
