"""A row of the table: what is run, per which unit, and what it must reach."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from bench.engine import RUNNER, Engine

Sample = Callable[[int], float]
"""Runs the work the given number of times; the seconds that took."""


@dataclass(frozen=True)
class Goal:
    """A limit to be proud of, and one that must hold."""

    excellent: float
    gate: float


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: the line's key, for `--rows`.
        title: what is measured.
        unit: `µs`, `ms`, `KiB` or `fold`.
        per: how many units of work one call does; figures are divided by it.
        floor: the same work in bare Python, given antiphon's engine if there is one. May be None.
        engine: the work on an engine. May be None, if it takes that one too long.
        times_floor: at most this many times the floor.
        gain: LangGraph's figure divided by ours is at least this.
        absolute: our own figure is at most this.
        scale: a figure is seconds times `scale` divided by `per`.
        once: a call is long enough, or too costly, to be repeated in a sample.
        beside: the same work in other packages, by their names; None for one that is not
            installed. No goal looks at them.
    """

    name: str
    title: str
    unit: str
    per: int
    floor: Callable[[Engine | None], Sample | None]
    engine: Callable[[Engine], Sample | None]
    times_floor: Goal | None = None
    gain: Goal | None = None
    absolute: Goal | None = None
    scale: float = 1e6
    once: bool = False
    beside: Mapping[str, Callable[[], Sample | None]] = field(default_factory=dict)


def sync(work: Callable[[], Any]) -> Sample:
    """Time a function."""

    def sample(times: int) -> float:
        began = perf_counter()
        for _ in range(times):
            work()
        return perf_counter() - began

    return sample


def awaited(work: Callable[[], Awaitable[Any]]) -> Sample:
    """Time an async function, inside the loop."""

    async def timed(times: int) -> float:
        began = perf_counter()
        for _ in range(times):
            await work()
        return perf_counter() - began

    return lambda times: RUNNER.run(timed(times))
