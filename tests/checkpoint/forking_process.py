"""A process with a node that forks it while the run is kept.

Arguments: the store's URL, how the run is driven, what the child does. The code that the fork
returns to prints the child's outcome to standard output; the parent prints its run's outcome.
"""

import asyncio
import operator
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypedDict, cast

from antiphon.checkpoint import MemorySaver, PostgresSaver, Saver, SqliteSaver
from antiphon.graph import (
    START,
    CompiledGraph,
    Durability,
    RunnableConfig,
    Runtime,
    StateGraph,
)
from antiphon.systems import ReviewLoop

CONFIG: RunnableConfig = {"configurable": {"thread_id": "forked"}}
PARENT = os.getpid()


class State(TypedDict, total=False):
    """What was done, by whom."""

    log: Annotated[list[str], operator.add]


def open_at(url: str) -> Saver:
    """The store of a URL."""
    if url == "memory:":
        return MemorySaver()
    return SqliteSaver.open(url) if url.startswith("sqlite:") else PostgresSaver.open(url)


def say(*words: object) -> None:
    """Writes a line at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def work_in(saver: Saver) -> None:
    """A separate run."""
    one = StateGraph(State).add_node("one", lambda _: {"log": ["child"]})
    other: RunnableConfig = {"configurable": {"thread_id": "other"}}
    one.add_edge(START, "one").compile(saver).invoke({}, other)


class Forker:
    """The node, and what its child does."""

    def __init__(self, url: str, act: str) -> None:
        self._url, self._act = url, act
        self.saver = open_at(url)

    def fork(self, state: State, runtime: Runtime[None]) -> State:
        """Forks; the parent waits for the child and continues."""
        del state
        child = os.fork()
        if child == 0:
            return self._in_child(runtime)
        _, status = os.waitpid(child, 0)
        say("status", os.waitstatus_to_exitcode(status))
        return {"log": ["forked"]}

    async def afork(self, state: State, runtime: Runtime[None]) -> State:
        """The same as a coroutine."""
        return self.fork(state, runtime)

    def _in_child(self, runtime: Runtime[None]) -> State:
        if self._act == "return":
            return {"log": ["child"]}
        if self._act == "raise":
            raise ValueError("in the child")
        acts: dict[str, Callable[[], object]] = {
            "leave": lambda: sys.exit(7),
            "step": lambda: runtime.step("pay", say, "paid by the child"),
            "repeatable": lambda: runtime.step("pay", say, "paid", idempotent=True),
            "look": self.saver.threads,
            "await": lambda: asyncio.run(self._look()),
            "open": lambda: open_at(self._url),
            "elsewhere": self._work_elsewhere,
            "again": lambda: work_in(self.saver),
        }
        acts[self._act]()
        say("the child went on")
        os._exit(0)

    def _work_elsewhere(self) -> None:
        with SqliteSaver.open((self._url.partition(":")[2] or "runs.db") + "-too") as saver:
            work_in(saver)

    async def _look(self) -> None:
        await self.saver.athreads()


def after(state: State) -> State:
    """Comes after the fork, in each process that gets there."""
    del state
    say("after", "parent" if os.getpid() == PARENT else "child")
    return {"log": ["after"]}


def beside(state: State) -> State:
    """Runs at the same time."""
    del state
    return {"log": ["beside"]}


async def drive(graph: CompiledGraph, way: str, durability: Durability) -> None:
    """Drives a run on an event loop."""
    if way == "ainvoke":
        await graph.ainvoke({}, CONFIG, durability=durability)
    else:
        async for _ in graph.astream({}, CONFIG, durability=durability):
            pass


def ask(url: str) -> None:
    """A loop whose model is a function that forks when it is asked first."""
    asked: list[str] = []

    def model(request: object) -> str:
        asked.append(str(request))
        if len(asked) == 1:
            child = os.fork()
            if child:
                _, status = os.waitpid(child, 0)
                say("status", os.waitstatus_to_exitcode(status))
        return "x"

    with open_at(url) as saver:
        loop = ReviewLoop(cast("Any", model), retry_limit=1, checkpointer=saver)
        say("end", loop.run("q", thread="q").outcome, saver.thread("q").summary.status)


def run(forker: Forker, way: str, durability: Durability) -> None:
    """Runs the graph as its arguments say."""
    builder = StateGraph(State)
    is_async = way.endswith("async")
    builder.add_node("fork", forker.afork if is_async else forker.fork)
    builder.add_node("after", after).add_edge(START, "fork").add_edge("fork", "after")
    if way.startswith("wide"):
        builder.add_node("beside", beside).add_edge(START, "beside")
    graph = builder.compile(forker.saver)
    driver = way.rsplit(maxsplit=1)[-1].removesuffix("-async")
    if driver == "invoke":
        graph.invoke({}, CONFIG, durability=durability)
    elif driver == "stream":
        for _ in graph.stream({}, CONFIG, durability=durability):
            pass
    else:
        asyncio.run(drive(graph, driver, durability))
    held = graph.get_state(CONFIG).values["log"]
    say("end", ",".join(held), forker.saver.thread("forked").summary.status)


def main(url: str, way: str, act: str, durability: Durability) -> None:
    """Runs, and says what came out."""
    try:
        if way == "loop":
            ask(url)
        else:
            run(Forker(url, act), way, durability)
    except Exception as error:
        if os.getpid() == PARENT:
            raise
        say("child", getattr(error, "code", type(error).__name__))
        sys.exit(3)


main(sys.argv[1], sys.argv[2], sys.argv[3], cast("Durability", sys.argv[4]))
