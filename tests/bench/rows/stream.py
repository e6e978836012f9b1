"""One `updates` event per superstep, sync and async."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from bench.engine import CONFIG, Engine, drain
from bench.row import Goal, Row, Sample, awaited, sync
from bench.rows.chain import STEPS, State, anode, node


def bare_stream() -> Iterator[Any]:
    """The floor: a generator."""
    state: Any = {"n": 0}
    for step in [node] * STEPS:
        update = step(dict(state))
        state = {**state, **update}
        yield {"n": update}


async def bare_astream() -> AsyncIterator[Any]:
    """The floor: an async generator."""
    state: Any = {"n": 0}
    for step in [anode] * STEPS:
        update = await step(dict(state))
        state = {**state, **update}
        yield {"n": update}


async def adrain(iterable: AsyncIterator[Any]) -> None:
    """Read an async stream to its end."""
    async for _ in iterable:
        pass


def stream(engine: Engine) -> Sample:
    """`stream` on an engine."""
    graph = engine.chain(State, node, STEPS)
    return sync(lambda: drain(graph.stream({"n": 0}, CONFIG, stream_mode="updates")))


def astream(engine: Engine) -> Sample:
    """`astream` on an engine."""
    graph = engine.chain(State, anode, STEPS)
    return awaited(lambda: adrain(graph.astream({"n": 0}, CONFIG, stream_mode="updates")))


GOALS: dict[str, Any] = {
    "unit": "µs",
    "per": STEPS,
    "times_floor": Goal(2, 4),
    "gain": Goal(300, 150),
}

ROWS = (
    Row(
        "stream",
        "event of stream(updates)",
        floor=lambda _: sync(lambda: drain(bare_stream())),
        engine=stream,
        **GOALS,
    ),
    Row(
        "astream",
        "event of astream(updates)",
        floor=lambda _: awaited(lambda: adrain(bare_astream())),
        engine=astream,
        **GOALS,
    ),
)
