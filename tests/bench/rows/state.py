"""A large state: a dict of 1 MB and a list of messages, one appended per step."""

import operator
from functools import cache
from typing import Annotated, Any, TypedDict

from bench.engine import CONFIG, Engine
from bench.row import Goal, Row, Sample, sync

STEPS = 1000
MANY, FEW = 10_000, 10


class State(TypedDict):
    """A large value that nobody touches, and a growing list."""

    blob: dict[str, str]
    messages: Annotated[list[dict[str, str]], operator.add]


@cache
def blob() -> dict[str, str]:
    """About 1 MB of strings."""
    return {f"key {i}": "x" * 100 for i in range(10_000)}


def message(i: int) -> dict[str, str]:
    """A message of about 150 bytes."""
    return {"role": "user", "content": f"message {i} " + "x" * 100}


def messages(count: int) -> list[dict[str, str]]:
    """Messages to start with."""
    return [message(i) for i in range(count)]


ADDED = message(-1)


def node(state: Any) -> dict[str, Any]:
    """Append one message."""
    return {"messages": [ADDED]}


def bare(count: int) -> Sample:
    """The floor: extend in place, after one copy that keeps the input as it was."""
    given = messages(count)

    def work() -> Any:
        state: Any = {"blob": blob(), "messages": list(given)}
        for step in [node] * STEPS:
            update = step(dict(state))
            state["messages"].extend(update["messages"])
        return state

    return sync(work)


def append(engine: Engine, count: int) -> Sample:
    """The steps on an engine."""
    graph = engine.chain(State, node, STEPS)
    given = {"blob": blob(), "messages": messages(count)}
    return sync(lambda: graph.invoke(given, CONFIG))


ROWS = (
    Row(
        "append",
        "superstep, 1 MB + 10,000 messages, append",
        "µs",
        STEPS,
        floor=lambda _: bare(MANY),
        engine=lambda engine: append(engine, MANY),
        times_floor=Goal(2, 4),
        gain=Goal(75, 35),
    ),
    Row(
        "append-growth",
        "the same (floor: antiphon at 10 messages)",
        "µs",
        STEPS,
        floor=lambda ours: append(ours, FEW) if ours else None,
        engine=lambda engine: append(engine, MANY),
        times_floor=Goal(1.5, 1.5),
    ),
)
