"""A thread whose list grows by a message a step: what its steps, its file and its return cost.

LangGraph keeps it with `langgraph-checkpoint-sqlite`. Both write SQLite's write-ahead log into the
folder for temporary files. `process` is `synchronous=NORMAL`, antiphon's default: a commit survives
the death of the process. `power` is `synchronous=FULL`, LangGraph's default: one flush of the disk
per commit.
"""

import json
import operator
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any, TypedDict

from bench.engine import CONFIG, Engine

TIMEOUT = 150.0
"""Seconds after which a run ends, however many steps are left."""

SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}


class State(TypedDict):
    """A large value that nobody touches, and a growing list."""

    blob: dict[str, str]
    messages: Annotated[list[dict[str, str]], operator.add]


@dataclass(frozen=True)
class Keeping:
    """How a run is kept.

    Attributes:
        durability: `sync`, `async` or `exit`; None keeps nothing.
        survives: what a commit in a file outlives, `process` or `power`; None keeps it in memory.
    """

    durability: str | None = "async"
    survives: str | None = "process"


@dataclass(frozen=True)
class Grown:
    """What was measured of one run, in seconds and bytes."""

    began: float
    ticks: tuple[float, ...]
    ended: float
    size: int = 0
    found: float = 0
    resumed: float = 0

    @property
    def per_step(self) -> float:
        """Of the whole run, its beginning and its end included."""
        return (self.ended - self.began) / len(self.ticks)

    def near(self, step: int) -> float:
        """The median of the steps around one."""
        reach = min(50, step // 2)
        ticks = self.ticks[step - reach : step + reach + 1]
        return median(late - soon for soon, late in pairwise(ticks))

    @property
    def weight(self) -> float:
        """Bytes of the store's files for each byte of the messages as JSON."""
        return self.size / sum(len(json.dumps(message(i))) for i in range(len(self.ticks)))


def steps_around(step: int) -> int:
    """How many steps it takes to measure those around one."""
    return step + min(50, step // 2) + 1


def message(i: int) -> dict[str, str]:
    """A message of about 200 bytes."""
    return {"role": "user", "content": f"message {i} " + "x" * 160}


def grow(engine: Engine, steps: int, keeping: Keeping, blob: dict[str, str] | None = None) -> Grown:
    """Run a graph for so many steps in a new thread; then load it with a fresh saver.

    The file is made by another thread before that.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "thread.db"
        with saver(engine, path, keeping) as kept:
            run(engine, 1, keeping, kept, "before")
            grown = run(engine, steps, keeping, kept, blob=blob or {})
        grown = replace(grown, size=sum(file.stat().st_size for file in path.parent.iterdir()))
        if keeping.durability is None or keeping.survives is None:
            return grown
        with saver(engine, path, keeping) as kept:
            graph, _ = loop(engine, steps, kept)
            found = timed(lambda: graph.get_state(place("t")))
        with saver(engine, path, keeping) as kept:
            again = run(engine, 1, keeping, kept)
        return replace(grown, found=found, resumed=again.ticks[0] - again.began)


def run(
    engine: Engine, steps: int, keeping: Keeping, kept: Any, thread: str = "t", **given: Any
) -> Grown:
    """One run of so many steps."""
    graph, ticks = loop(engine, steps, kept)
    options = {} if keeping.durability is None else {"durability": keeping.durability}
    began = perf_counter()
    graph.invoke({"messages": [], **given}, place(thread), **options)
    return Grown(began, tuple(ticks), perf_counter())


def place(thread: str) -> Any:
    """The config of a thread."""
    return {**CONFIG, "configurable": {"thread_id": thread}}


def loop(engine: Engine, steps: int, kept: Any) -> tuple[Any, list[float]]:
    """A node that adds a message and leads back to itself, and the times of its calls."""
    ticks: list[float] = []
    command, end = engine.impl.Command, engine.impl.END

    def node(state: Any) -> Any:
        ticks.append(perf_counter())
        added = {"messages": [message(len(ticks))]}
        continues = len(ticks) < steps and ticks[-1] - ticks[0] < TIMEOUT
        return command(update=added, goto="n" if continues else end)

    builder = engine.impl.StateGraph(State)
    builder.add_node("n", node, destinations=("n", end)).add_edge(engine.impl.START, "n")
    return engine.compile(builder, checkpointer=kept), ticks


@contextmanager
def saver(engine: Engine, path: Path, keeping: Keeping) -> Iterator[Any]:
    """Where the thread is kept."""
    if keeping.durability is None:
        yield None
    elif keeping.survives is None:
        yield engine.impl.MemorySaver()
    elif engine.ours:
        with engine.impl.SqliteSaver.open(path, sync=keeping.survives) as kept:
            yield kept
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        connection = sqlite3.connect(path, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[keeping.survives]}")
        yield SqliteSaver(connection)
        connection.close()


def timed(work: Callable[[], Any]) -> float:
    """The seconds that something takes."""
    began = perf_counter()
    work()
    return perf_counter() - began
