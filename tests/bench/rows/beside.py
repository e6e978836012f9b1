"""What a long sync node on the caller's thread costs the other nodes of its superstep."""

import operator
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypedDict

from bench.engine import Engine
from bench.row import Goal, Row, Sample, sync

LONG = 0.06  # seconds
STEPS = 3
SHORT = LONG / STEPS
WORKERS = 10
STORES = TemporaryDirectory()
"""Removed at the end of the process."""


class State(TypedDict, total=False):
    """A list that every node appends to."""

    out: Annotated[list[int], operator.add]


class StoredState(State):
    """The same, and the thread that it is kept in."""

    thread: str


def waits(seconds: float) -> Any:
    """A node that blocks like a network call."""

    def node(state: Any) -> State:
        time.sleep(seconds)
        return {"out": [1]}

    return node


def bare(_: Any) -> Sample:
    """The floor: two threads."""
    pool = ThreadPoolExecutor(2)
    long, short = waits(LONG), waits(SHORT)

    def steps() -> None:
        for _ in range(STEPS):
            short({})

    def both() -> None:
        beside = pool.submit(steps)
        long({})
        beside.result()

    return sync(both)


def nested(engine: Engine) -> Sample:
    """A long node beside a graph of short ones."""
    impl = engine.impl
    graph = impl.StateGraph(State).add_node("long", waits(LONG))
    graph.add_node("nested", engine.chain(State, waits(SHORT), STEPS))
    graph.add_edge(impl.START, "long").add_edge(impl.START, "nested")
    compiled = engine.compile(graph)
    return sync(lambda: compiled.invoke({"out": []}))


def stored(engine: Engine) -> Sample | None:
    """A long node that ends when the work of ten short ones beside it is stored."""
    if not engine.ours:
        return None
    impl, threads = engine.impl, count()
    path = Path(STORES.name) / "runs.db"
    mine, others = impl.SqliteSaver.open(path), impl.SqliteSaver.open(path)

    def work(task: dict[str, Any]) -> State:
        config = {"configurable": {"thread_id": task["thread"]}}
        until = time.perf_counter() + 1
        while task["long"] and time.perf_counter() < until:
            done = [task for task in reader.get_state(config).tasks if task.result is not None]
            if len(done) == WORKERS:
                break
            time.sleep(0.0005)
        return {"out": [1]}

    def send(state: dict[str, Any]) -> list[Any]:
        tasks = [{"long": not n, "thread": state["thread"]} for n in range(WORKERS + 1)]
        return [impl.Send("work", task) for task in tasks]

    builder = impl.StateGraph(StoredState).add_node("work", work)
    builder.add_conditional_edges(impl.START, send, ["work"])
    graph = engine.compile(builder, checkpointer=mine)
    reader = engine.compile(builder, checkpointer=others)

    def run() -> None:
        thread = f"t{next(threads)}"
        config = {"configurable": {"thread_id": thread}}
        graph.invoke({"out": [], "thread": thread}, config, durability="sync")

    return sync(run)


ROWS = (
    Row(
        "long-nested",
        "60 ms beside a nested graph of 3 x 20 ms (floor: threads)",
        "ms",
        1,
        floor=bare,
        engine=nested,
        times_floor=Goal(1.1, 1.3),
        scale=1e3,
        once=True,
    ),
    Row(
        "long-stored",
        "10 short nodes stored, sync, beside a long one",
        "ms",
        1,
        floor=lambda _: None,
        engine=stored,
        absolute=Goal(10, 25),
        scale=1e3,
        once=True,
    ),
)
