"""1,000 runs at once on one event loop, 10 async steps each."""

import asyncio
from typing import Any

from bench.engine import CONFIG, Engine
from bench.row import Goal, Row, Sample, awaited
from bench.rows.chain import State, anode

RUNS, STEPS = 1000, 10


async def bare_run() -> Any:
    """One run in bare Python."""
    state: Any = {"n": 0}
    for step in [anode] * STEPS:
        state = {**state, **await step(dict(state))}
    return state


async def bare_runs() -> None:
    """The floor."""
    await asyncio.gather(*(bare_run() for _ in range(RUNS)))


def runs(engine: Engine) -> Sample:
    """The runs on an engine."""
    graph = engine.chain(State, anode, STEPS)

    async def gather() -> None:
        await asyncio.gather(*(graph.ainvoke({"n": 0}, CONFIG) for _ in range(RUNS)))

    return awaited(gather)


ROWS = (
    Row(
        "runs",
        "superstep, 1,000 runs x 10 async",
        "µs",
        RUNS * STEPS,
        floor=lambda _: awaited(bare_runs),
        engine=runs,
        times_floor=Goal(1.5, 2.5),
        gain=Goal(250, 120),
    ),
)
