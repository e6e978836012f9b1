"""A process that keeps runs under hardship, and says on its output what came of it.

Arguments: what it must bear (``unprivileged``, ``changed``, ``little-disk``, ``room-again`` or
``nothing``), the file, and so many steps.
"""

import operator
import os
import resource
import signal
import sys
from typing import Annotated, Any, TypedDict

from antiphon.checkpoint import MemorySaver, Saver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import END, START, Durability, RunnableConfig, StateGraph

NOBODY = 65534
ROOM = 400_000
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}, "recursion_limit": 100_000}


class State(TypedDict, total=False):
    """What a run has done."""

    log: Annotated[list[Any], operator.add]
    until: int


def kept(saver: Saver, steps: int, durability: Durability = "sync") -> int:
    """Resumes the thread until its list has so many items; how many there are."""

    def add(state: State) -> State:
        print("step", len(state.get("log", [])), flush=True)
        return {"log": ["x" * 2_000]}

    builder = StateGraph(State).add_node("add", add).add_edge(START, "add")
    builder.add_conditional_edges(
        "add", lambda state: "add" if len(state["log"]) < state["until"] else END
    )
    graph = builder.compile(saver)
    started = graph.get_state(CONFIG).metadata is not None
    return len(
        graph.invoke(None if started else {"until": steps}, CONFIG, durability=durability)["log"]
    )


def without_room(saver: Saver, steps: int) -> None:
    """Run into a full disk at the end of a run; then there is room again."""
    try:
        kept(saver, steps, "exit")
    except AntiphonError as error:
        print("error", error.code, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def main(hardship: str, path: str, steps: int) -> None:
    """Bears it."""
    with MemorySaver() as saver:
        # All that is imported late is imported now.
        kept(saver, 1)
    print("begin", flush=True)
    if hardship in {"unprivileged", "changed"} and os.getuid() == 0:
        os.setuid(NOBODY)
    if hardship in {"little-disk", "room-again"}:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))
    try:
        with SqliteSaver.open(path) as saver:
            print("holds", *(thread.steps for thread in saver.threads()), flush=True)
            if hardship == "changed":
                # Somebody who may write does so now.
                sys.stdin.readline()
                saver.threads()
            if hardship == "room-again":
                without_room(saver, steps)
            print("end", kept(saver, steps), flush=True)
    except AntiphonError as error:
        print("error", error.code, flush=True)
        print(error.message, error.hint, flush=True)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
