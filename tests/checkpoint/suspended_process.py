"""A process that is stopped in the middle of a node, for longer than its thread is kept for it.

Arguments: the store's URL, the durability, what its node does afterwards.
"""

import operator
import os
import signal
import sys
import time
from typing import Annotated, TypedDict, cast

from antiphon.checkpoint import PostgresSaver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import START, Durability, RunnableConfig, Runtime, StateGraph

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What was done, by whom."""

    log: Annotated[list[str], operator.add]


def say(*words: object) -> None:
    """Writes a line at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def wait_for_first_step(url: str) -> None:
    """Until it is durable: a process that is stopped within a transaction locks a file."""
    with SqliteSaver.open(url) if url.startswith("sqlite:") else PostgresSaver.open(url) as saver:
        while saver.thread("t").summary.steps < 1:
            time.sleep(0.005)


def main(url: str, durability: Durability, act: str) -> None:
    """Runs two steps; within the second one the process stops itself."""

    def first(state: State) -> State:
        del state
        return {"log": ["first"]}

    def second(state: State, runtime: Runtime[None]) -> State:
        del state
        if durability != "exit":
            wait_for_first_step(url)
        os.kill(os.getpid(), signal.SIGSTOP)
        if act == "step":
            runtime.step("pay", say, "paid")
        return {"log": ["stopped"]}

    def third(state: State) -> State:
        del state
        return {"log": ["third"]}

    builder = StateGraph(State).add_node("first", first).add_node("second", second)
    builder.add_node("third", third).add_edge(START, "first").add_edge("first", "second")
    graph = builder.add_edge("second", "third").compile(url)
    try:
        graph.invoke({}, CONFIG, durability=durability)
    except AntiphonError as error:
        say(error.code)
    else:
        say("ended")


main(sys.argv[1], cast("Durability", sys.argv[2]), sys.argv[3])
