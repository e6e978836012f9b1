"""Rows of many questions at once: the time of each, and the memory."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bench.engine import Engine
from bench.row import Row, Sample, awaited
from bench.rows.process import printed

RUNS = 200
WARM = 4
"""Questions before memory is measured."""
REPLIES = RUNS + WARM
"""Replies that the script of a model needs."""

Asking = Callable[[Engine], Callable[[], Awaitable[Any]]]
"""Gives what asks one question on an engine."""


def at_once(
    name: str, title: str, floor: Callable[[Engine | None], Sample | None], asking: Asking
) -> Row:
    """The time of a question among `RUNS` on one event loop."""

    def many(engine: Engine) -> Sample:
        def sample(times: int) -> float:
            # A model's script serves one sample; it is written before the clock starts.
            return sum(together(asking(engine))(1) for _ in range(times))

        return sample

    return Row(name, title, "µs", RUNS, floor, many, once=True)


def together(ask: Callable[[], Awaitable[Any]]) -> Sample:
    """The questions on one event loop."""

    async def gather() -> None:
        await asyncio.gather(*(ask() for _ in range(RUNS)))

    return awaited(gather)


def memory(name: str, module: str, title: str) -> Row:
    """The memory of a question among `RUNS`, in a process of its own (see `peak.py`)."""

    def measured(engine: Engine) -> Sample:
        return lambda _: printed("-m", "bench.peak", module, engine.impl.name)

    return Row(name, title, "KiB", 1, lambda _: None, measured, scale=1, once=True)
