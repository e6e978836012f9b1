"""What the caller's thread, the pool and stand-in threads do while a node takes long."""

import gc
import threading
import time
import weakref
from typing import Any

import pytest

from antiphon._antiphon import current_context
from antiphon.errors import RunCancelled
from antiphon.graph import END, START, RetryPolicy, StateGraph
from graph.test_long_nodes import TIMEOUT, Signal, beside
from support.oracle import Impl
from support.states import Log, Update
from support.waiting import happens, take_time

pytestmark = pytest.mark.only("antiphon")


def test_a_result_is_read_beside_two_long_nodes(impl: Impl) -> None:
    signal = Signal()
    attempts = []

    def fails(state: Any) -> Update:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError
        signal.give()
        return {}

    builder = StateGraph(Log)
    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    builder.add_node("fails", fails, retry_policy=policy).add_edge(START, "fails")
    for name in ("one", "two", "three"):
        builder.add_node(name, signal.long).add_edge(START, name)
    assert builder.compile().invoke({"log": []})["log"] == ["in time"] * 3


def test_the_result_of_an_inline_node_is_not_kept_back(impl: Impl) -> None:
    signal = Signal()
    nested = StateGraph(Log).add_node("one", lambda s: {"log": ["one"]}, inline=True)
    nested.add_node("two", lambda s: signal.give()).add_edge(START, "one").add_edge("one", "two")
    graph = beside(impl, signal.long, ("nested", nested.compile()))
    assert graph.invoke({"log": []})["log"] == ["in time", "one"]


def test_the_caller_is_let_in_between_inline_nodes(impl: Impl) -> None:
    """A loop of inline nodes continues until the caller's thread has made the next call."""
    seen = threading.Event()
    until = time.monotonic() + TIMEOUT

    def after(state: Any) -> Update:
        seen.set()
        return {"log": ["in time" if time.monotonic() < until else "too late"]}

    nested = StateGraph(Log).add_sequence([("slow", lambda s: take_time(0.05)), ("after", after)])
    loop = StateGraph(Log).add_node("step", lambda s: take_time(0.002), inline=True)
    loop.add_edge(START, "step")
    loop.add_conditional_edges(
        "step", lambda s: END if seen.is_set() or time.monotonic() > until else "step"
    )
    builder = StateGraph(Log).add_node("n", nested.add_edge(START, "slow").compile())
    builder.add_node("z", loop.compile()).add_edge(START, "n").add_edge(START, "z")
    assert builder.compile().invoke({"log": []})["log"] == ["in time"]


def test_no_call_is_made_any_more_for_a_run_that_was_cancelled(impl: Impl) -> None:
    order: list[str] = []
    runs: list[Any] = []

    def first(state: Any) -> None:
        run = current_context().run
        runs.append(weakref.ref(run))
        # From the caller's own thread it could wait until the node is over.
        canceller = threading.Thread(target=run.cancel, args=("enough",))
        canceller.start()
        canceller.join()
        happens(lambda: run.outcome != "running", TIMEOUT)

    async def third(state: Any) -> None:
        order.append("third")

    builder = StateGraph(Log).add_node("a", first, inline=True).add_edge(START, "a")
    builder.add_node("b", lambda s: order.append("second"), inline=True).add_edge(START, "b")
    builder.add_node("c", third).add_edge(START, "c")
    with pytest.raises(RunCancelled):
        builder.compile().invoke({"log": []})
    gc.collect()
    assert (order, [run() for run in runs]) == ([], [None])
