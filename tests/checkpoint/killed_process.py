"""A process that is going to be killed: it resumes one thread of a store, as far as it gets.

Arguments: the store's URL, the journal, the durability, the number of steps. Every node notes in
the journal that it begins, and the process notes what the thread holds when it takes it up.
"""

import operator
import os
import random
import sys
from typing import Annotated, TypedDict, cast

from antiphon.errors import ToolError
from antiphon.graph import END, START, Durability, RunnableConfig, Runtime, StateGraph
from support.waiting import take_time

CONFIG: RunnableConfig = {"configurable": {"thread_id": "victim"}, "recursion_limit": 100_000}


class State(TypedDict, total=False):
    """Two lists that grow side by side, and a count."""

    left: Annotated[list[int], operator.add]
    right: Annotated[list[int], operator.add]
    count: int


class Victim:
    """The graph and its journal."""

    def __init__(self, journal: str) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, *words: object) -> None:
        """Writes a line that survives the death of the process."""
        os.write(self._journal, (" ".join(map(str, words)) + "\n").encode())

    def count(self, state: State, runtime: Runtime[None]) -> State:
        """One separate superstep, which does something that must not happen twice."""
        done = state.get("count", 0)
        self.note("count", done)
        try:
            runtime.step("pay", self.note, "pay", done)
        except ToolError as error:
            if error.code != "unknown_outcome":
                raise
            self.note("unknown", done)
        take_time(random.uniform(0, 0.002))
        return {"count": done + 1}

    def left(self, state: State) -> State:
        """One of two tasks of a superstep."""
        self.note("left", state["count"])
        return {"left": [state["count"]]}

    def right(self, state: State) -> State:
        """The other one, which takes longer."""
        self.note("right", state["count"])
        take_time(random.uniform(0, 0.002))
        return {"right": [state["count"]]}


def main(url: str, journal: str, durability: Durability, steps: int) -> None:
    """Resumes the thread, or begins it."""
    victim = Victim(journal)
    builder = StateGraph(State)
    for node in (victim.count, victim.left, victim.right):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "count").add_edge(["left", "right"], "count")
    builder.add_conditional_edges(
        "count", lambda state: ["left", "right"] if state["count"] <= steps else END
    )
    graph = builder.compile(url)
    state = graph.get_state(CONFIG)
    held = state.values
    sizes = [len(held.get(key, ())) for key in ("left", "right")]
    victim.note("begin", held.get("count", 0), *sizes, *state.next)
    given: State | None = {} if state.metadata is None else None
    done = graph.invoke(given, CONFIG, durability=durability)
    victim.note("end", done["count"], len(done["left"]), len(done["right"]))


main(sys.argv[1], sys.argv[2], cast("Durability", sys.argv[3]), int(sys.argv[4]))
