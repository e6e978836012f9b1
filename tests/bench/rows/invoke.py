"""A whole run of a small graph, start and end included."""

from typing import Any

from bench.engine import Engine
from bench.row import Goal, Row, Sample, sync
from bench.rows.chain import State, node

STEPS = 3


def bare_invoke() -> Any:
    """The floor."""
    state: Any = {"n": 0}
    for step in [node] * STEPS:
        state = {**state, **step(dict(state))}
    return state


def invoke(engine: Engine) -> Sample:
    """The run on an engine."""
    graph = engine.chain(State, node, STEPS)
    return sync(lambda: graph.invoke({"n": 0}))


ROWS = (
    Row(
        "invoke",
        "whole invoke of 3 nodes",
        "µs",
        1,
        floor=lambda _: sync(bare_invoke),
        engine=invoke,
        gain=Goal(150, 80),
    ),
)
