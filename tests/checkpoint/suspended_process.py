"""A process that is stopped in the middle of a node, for longer than its thread is kept for it.

Arguments: the store's URL, the durability, what its node does afterwards.
"""

import os
import signal
import sys
from typing import cast

from antiphon.checkpoint import PostgresSaver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import START, Durability, RunnableConfig, Runtime, StateGraph
from support.states import Log
from support.waiting import happens

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


def say(*words: object) -> None:
    """Writes a line at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def wait_for_first_step(url: str) -> None:
    """Until it is durable: a process that is stopped within a transaction locks a file."""
    with SqliteSaver.open(url) if url.startswith("sqlite:") else PostgresSaver.open(url) as saver:
        assert happens(lambda: saver.thread("t").summary.steps >= 1)


def main(url: str, durability: Durability, act: str) -> None:
    """Runs two steps; within the second one the process stops itself."""

    def first(state: Log) -> Log:
        del state
        return {"log": ["first"]}

    def second(state: Log, runtime: Runtime[None]) -> Log:
        del state
        if durability != "exit":
            wait_for_first_step(url)
        os.kill(os.getpid(), signal.SIGSTOP)
        if act == "step":
            runtime.step("pay", say, "paid")
        return {"log": ["stopped"]}

    def third(state: Log) -> Log:
        del state
        return {"log": ["third"]}

    builder = StateGraph(Log).add_node("first", first).add_node("second", second)
    builder.add_node("third", third).add_edge(START, "first").add_edge("first", "second")
    graph = builder.add_edge("second", "third").compile(url)
    try:
        graph.invoke({}, CONFIG, durability=durability)
    except AntiphonError as error:
        say(error.code)
    else:
        say("ended")


main(sys.argv[1], cast("Durability", sys.argv[2]), sys.argv[3])
