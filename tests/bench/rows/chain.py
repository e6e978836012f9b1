"""1,000 supersteps, one trivial node each: a chain, and a loop with a router."""

from typing import Any, TypedDict

from bench.engine import CONFIG, Engine
from bench.row import Goal, Row, Sample, awaited, sync

STEPS = 1000


class State(TypedDict):
    """A counter."""

    n: int


def node(state: Any) -> State:
    """Count."""
    return {"n": state["n"] + 1}


async def anode(state: Any) -> State:
    """Count."""
    return {"n": state["n"] + 1}


def router(state: Any) -> str:
    """Lead back until the count is full."""
    return "n" if state["n"] < STEPS else "__end__"


def bare_chain() -> Any:
    """The floor of the chain."""
    state: Any = {"n": 0}
    for step in [node] * STEPS:
        state = {**state, **step(dict(state))}
    return state


async def bare_achain() -> Any:
    """The floor of the async chain."""
    state: Any = {"n": 0}
    for step in [anode] * STEPS:
        state = {**state, **await step(dict(state))}
    return state


def bare_loop() -> Any:
    """The floor of the loop."""
    state: Any = {"n": 0}
    following = "n"
    while following == "n":
        state = {**state, **node(dict(state))}
        following = router(state)
    return state


async def bare_aloop() -> Any:
    """The floor of the async loop."""
    state: Any = {"n": 0}
    following = "n"
    while following == "n":
        state = {**state, **await anode(dict(state))}
        following = router(state)
    return state


def chain(engine: Engine) -> Sample:
    """Sync chain."""
    graph = engine.chain(State, node, STEPS)
    return sync(lambda: graph.invoke({"n": 0}, CONFIG))


def loop(engine: Engine) -> Sample:
    """Sync loop."""
    graph = engine.loop(State, node, router)
    return sync(lambda: graph.invoke({"n": 0}, CONFIG))


def achain(engine: Engine) -> Sample:
    """Async chain."""
    graph = engine.chain(State, anode, STEPS)
    return awaited(lambda: graph.ainvoke({"n": 0}, CONFIG))


def aloop(engine: Engine) -> Sample:
    """Async loop."""
    graph = engine.loop(State, anode, router)
    return awaited(lambda: graph.ainvoke({"n": 0}, CONFIG))


SYNC: dict[str, Any] = {
    "unit": "µs",
    "per": STEPS,
    "times_floor": Goal(2, 4),
    "gain": Goal(400, 200),
}
ASYNC: dict[str, Any] = {
    "unit": "µs",
    "per": STEPS,
    "times_floor": Goal(2, 4),
    "gain": Goal(500, 200),
}

ROWS = (
    Row("chain", "superstep, sync chain", floor=lambda _: sync(bare_chain), engine=chain, **SYNC),
    Row(
        "loop",
        "superstep, sync loop + router",
        floor=lambda _: sync(bare_loop),
        engine=loop,
        **SYNC,
    ),
    Row(
        "achain",
        "superstep, async chain",
        floor=lambda _: awaited(bare_achain),
        engine=achain,
        **ASYNC,
    ),
    Row(
        "aloop",
        "superstep, async loop + router",
        floor=lambda _: awaited(bare_aloop),
        engine=aloop,
        **ASYNC,
    ),
)
