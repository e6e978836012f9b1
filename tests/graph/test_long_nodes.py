"""A node that takes long holds up nothing else of its run, on any thread that calls it.

Each long node here waits for something that only the rest of the run brings about. If the run stood
still meanwhile, the node would wait in vain.
"""

import contextvars
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.oracle import Impl, Run
from support.states import Log, Update
from support.waiting import forever

TESTS = Path(__file__).resolve().parents[1]
TIMEOUT = 20.0  # seconds, of a wait that ends at once unless the test fails


class Signal:
    """An event, and a node that waits for it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.give = self._event.set

    def long(self, state: Any) -> Update:
        """Say whether the event came."""
        return {"log": ["in time" if self._event.wait(TIMEOUT) else "too late"]}


def beside(impl: Impl, long: Callable[[Any], Any], *others: tuple[str, Any], **options: Any) -> Any:
    """A superstep of `long`, which is called first, and `others`."""
    builder = impl.StateGraph(Log).add_node("long", long).add_edge(impl.START, "long")
    for name, node in others:
        builder.add_node(name, node, **options).add_edge(impl.START, name)
    return builder.compile()


def test_a_nested_graph_continues(impl: Impl, run: Run) -> None:
    signal = Signal()
    nested = impl.sequence(
        Log,
        ("one", lambda s: {"log": ["one"]}),
        ("two", lambda s: {"log": ["two"]}),
        ("three", lambda s: signal.give()),
    )
    state = run(beside(impl, signal.long, ("nested", nested)), {"log": []})
    assert state["log"] == ["in time", "one", "two"]


def test_a_nested_graph_continues_beside_two_long_nodes(impl: Impl, run: Run) -> None:
    first, second = Signal(), Signal()
    nested = impl.sequence(Log, ("one", lambda s: second.give()), ("two", lambda s: first.give()))
    graph = beside(impl, first.long, ("other", second.long), ("nested", nested))
    assert run(graph, {"log": []})["log"] == ["in time", "in time"]


def test_a_node_is_tried_again(impl: Impl, run: Run) -> None:
    signal = Signal()
    attempts: list[int] = []

    def fails(state: Any) -> Update:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise ConnectionError
        signal.give()
        return {"log": ["third"]}

    policy = impl.RetryPolicy(initial_interval=0.001, jitter=False)
    graph = beside(impl, signal.long, ("fails", fails), retry_policy=policy)
    assert run(graph, {"log": []})["log"] == ["third", "in time"]


@pytest.mark.only("antiphon")
def test_a_timeout_fires_beside_a_long_node(impl: Impl, run: Run) -> None:
    signal = Signal()

    async def hangs(state: Any) -> None:
        try:
            await forever()
        finally:
            signal.give()

    graph = beside(impl, signal.long, ("hangs", hangs), timeout=0.01)
    with pytest.raises(impl.NodeTimeoutError):
        run(graph, {"log": []})


@pytest.mark.only("antiphon")
def test_the_run_is_cancelled(impl: Impl) -> None:
    from antiphon import _antiphon
    from antiphon.errors import RunCancelled

    left, started, over = Signal(), Signal(), Signal()

    async def hangs(state: Any) -> None:
        started.give()
        try:
            await forever()
        finally:
            left.give()

    ended: list[Update] = []

    def long(state: Any) -> Update:
        started.long(state)
        cancel = _antiphon.current_context().run.cancel
        canceller = threading.Thread(target=cancel, args=("enough",))
        canceller.start()
        canceller.join()
        ended.append(left.long(state))
        over.give()
        return ended[0]

    with pytest.raises(RunCancelled, match="enough"):
        beside(impl, long, ("hangs", hangs)).invoke({"log": []})
    # On the pool it outlives the run; which thread takes it is open.
    over.long({})
    assert ended == [{"log": ["in time"]}]


@pytest.mark.only("antiphon")
def test_a_failure_ends_what_runs_beside_it(impl: Impl) -> None:
    left = Signal()

    async def fails(state: Any) -> None:
        raise ValueError("mine")

    async def hangs(state: Any) -> None:
        try:
            await forever()
        finally:
            left.give()

    graph = beside(impl, left.long, ("hangs", hangs), ("fails", fails))
    with pytest.raises(ValueError, match="mine"):
        graph.invoke({"log": []})


@pytest.mark.parametrize("mode", ["updates", "tasks"])
def test_a_stream_shows_what_is_done(impl: Impl, mode: str) -> None:
    signal = Signal()
    graph = beside(impl, signal.long, ("a", lambda s: None), ("b", lambda s: {"log": ["b"]}))
    shown: list[str] = []
    log: list[str] = []
    for chunk in graph.stream({"log": []}, stream_mode=mode):
        if mode == "updates":
            for name, update in chunk.items():
                shown.append(name)
                log += (update or {"log": []})["log"]
        elif "result" in chunk:
            shown.append(chunk["name"])
            log += dict(chunk["result"] or {}).get("log", [])
        if {"a", "b"} <= set(shown):
            signal.give()
    assert sorted(shown) == ["a", "b", "long"]
    assert shown[-1] == "long"
    assert sorted(log) == ["b", "in time"]


def test_routers_see_the_context_variables_of_the_caller(impl: Impl, run: Run) -> None:
    signal = Signal()
    variable = contextvars.ContextVar("variable", default="none")
    seen: list[str] = []

    def route(state: Any) -> str:
        seen.append(variable.get())
        return "two"

    builder = impl.StateGraph(Log).add_node("one", lambda s: None).add_edge(impl.START, "one")
    builder.add_node("two", lambda s: signal.give())
    nested = builder.add_conditional_edges("one", route).compile()
    variable.set("mine")
    run(beside(impl, signal.long, ("nested", nested)), {"log": []})
    assert seen == ["mine"]


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("limit", [1, 64])
def test_the_limit_of_threads_holds_up_no_driver(impl: Impl, limit: int) -> None:
    from antiphon import _antiphon

    signal = Signal()
    nested = impl.sequence(
        Log, ("one", lambda s: {"log": ["one"]}), ("two", lambda s: signal.give())
    )
    graph = beside(impl, signal.long, ("nested", nested))
    _antiphon.set_thread_limit(limit)
    try:
        assert graph.invoke({"log": []})["log"] == ["in time", "one"]
    finally:
        _antiphon.set_thread_limit(64)


KILLED = """
import os, signal, sys
from support.oracle import Impl
from support.states import Log
from support.waiting import forever, happens
from antiphon.checkpoint import SqliteSaver

impl = Impl("antiphon")
path, style = sys.argv[1:]
config = {"configurable": {"thread_id": "t"}}

def others_are_stored():
    return sum(task.result is not None for task in graph.get_state(config).tasks) == 9

def work(n):
    os.write(1, b"%d " % n)
    if n == 0 and kill and happens(others_are_stored):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"log": [n]}

builder = impl.StateGraph(Log).add_node("work", work)
builder.add_conditional_edges(impl.START, lambda s: [impl.Send("work", n) for n in range(10)])
kill = True
with SqliteSaver.open(path) as saver:
    graph = builder.compile(checkpointer=saver)
    kill = style == "first"
    state = graph.invoke({"log": []} if kill else None, config, durability="sync")
    print(state["log"], flush=True)
"""


@pytest.mark.only("antiphon")
def test_what_is_done_is_not_done_again(impl: Impl, tmp_path: Path) -> None:
    def go_on(style: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", KILLED, tmp_path / "s.db", style],
            cwd=TESTS,
            env={**os.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    first = go_on("first")
    assert first.returncode == -signal.SIGKILL, first.stderr
    assert sorted(map(int, first.stdout.split())) == list(range(10))
    second = go_on("second")
    assert second.returncode == 0, second.stderr
    assert second.stdout.rstrip() == f"0 {list(range(10))}"
