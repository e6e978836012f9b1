"""Many nodes in one superstep: inline, pooled, blocking, async, sleeping."""

import asyncio
import operator
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

from bench.engine import CONFIG, Engine
from bench.row import Goal, Row, Sample, awaited, sync

WIDTH = 1000
BLOCKING = 64
NAP = 0.01  # seconds


class State(TypedDict, total=False):
    """A list that every node appends to."""

    out: Annotated[list[int], operator.add]


def node(state: Any) -> State:
    """Write one item."""
    return {"out": [1]}


async def anode(state: Any) -> State:
    """Write one item."""
    return {"out": [1]}


def blocks(state: Any) -> State:
    """Block like a network call."""
    time.sleep(NAP)
    return {"out": [1]}


async def sleeps(state: Any) -> State:
    """Wait like a network call."""
    await asyncio.sleep(NAP)
    return {"out": [1]}


def merged(updates: Any) -> State:
    """Merge what the nodes returned, in place."""
    out: list[int] = []
    for update in updates:
        out.extend(update["out"])
    return {"out": out}


def bare_inline() -> State:
    """The floor of sync nodes: a loop."""
    state: State = {"out": []}
    return merged([step(dict(state)) for step in [node] * WIDTH])


def bare_pool(work: Any, width: int, workers: int | None) -> Sample:
    """The floor of sync nodes in parallel: a thread pool that stands ready."""
    pool = ThreadPoolExecutor(workers)
    return sync(lambda: merged(pool.map(work, [{"out": []} for _ in range(width)])))


def bare_gather(work: Any) -> Sample:
    """The floor of async nodes: `asyncio.gather`."""

    async def gather() -> State:
        return merged(await asyncio.gather(*(work({"out": []}) for _ in range(WIDTH))))

    return awaited(gather)


def invoked(work: Any, width: int = WIDTH, **options: bool) -> Callable[[Engine], Sample]:
    """Sync nodes on an engine."""

    def prepare(engine: Engine) -> Sample:
        graph = engine.fan(State, work, width, **options)
        return sync(lambda: graph.invoke({"out": []}, CONFIG))

    return prepare


def sent(engine: Engine) -> Sample:
    """Sync nodes by `Send`."""
    graph = engine.sends(State, node, WIDTH, inline=True)
    return sync(lambda: graph.invoke({"out": []}, CONFIG))


def ainvoked(work: Any) -> Callable[[Engine], Sample]:
    """Async nodes on an engine."""

    def prepare(engine: Engine) -> Sample:
        graph = engine.fan(State, work, WIDTH)
        return awaited(lambda: graph.ainvoke({"out": []}, CONFIG))

    return prepare


ROWS = (
    Row(
        "fan-inline",
        "node, 1,000 sync inline",
        "µs",
        WIDTH,
        floor=lambda _: sync(bare_inline),
        engine=invoked(node, inline=True),
        times_floor=Goal(1.5, 3),
        gain=Goal(250, 120),
    ),
    Row(
        "fan-send",
        "node, 1,000 sync inline by Send",
        "µs",
        WIDTH,
        floor=lambda _: sync(bare_inline),
        engine=sent,
        gain=Goal(250, 120),
    ),
    Row(
        "fan-pooled",
        "node, 1,000 sync pooled (floor: executor)",
        "µs",
        WIDTH,
        floor=lambda _: bare_pool(node, WIDTH, None),
        engine=invoked(node),
        times_floor=Goal(0.1, 0.5),
        gain=Goal(100, 25),
    ),
    Row(
        "fan-blocking",
        "64 sync x 10 ms (floor: executor of 64)",
        "ms",
        1,
        floor=lambda _: bare_pool(blocks, BLOCKING, BLOCKING),
        engine=invoked(blocks, BLOCKING),
        times_floor=Goal(1.1, 1.4),
        gain=Goal(8, 5),
        scale=1e3,
        once=True,
    ),
    Row(
        "fan-async",
        "node, 1,000 async (floor: gather)",
        "µs",
        WIDTH,
        floor=lambda _: bare_gather(anode),
        engine=ainvoked(anode),
        times_floor=Goal(1.0, 1.3),
        gain=Goal(60, 40),
    ),
    Row(
        "fan-sleep",
        "1,000 async x sleep(10 ms) (floor: gather)",
        "ms",
        1,
        floor=lambda _: bare_gather(sleeps),
        engine=ainvoked(sleeps),
        times_floor=Goal(1.1, 1.3),
        gain=Goal(13, 8),
        scale=1e3,
        once=True,
    ),
)
