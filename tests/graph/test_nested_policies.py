"""`retry_policy` and `timeout` of a node that is a graph."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.checkpoint import MemorySaver
from antiphon.graph import START, NodeTimeoutError, RetryPolicy, StateGraph
from support.oracle import Impl, Run
from support.states import Log, Update, say
from support.waiting import ENOUGH, forever, happens


class Flaky:
    """A node that fails `times` times, then logs its name."""

    def __init__(self, times: int, error: Any = ConnectionError) -> None:
        self.left, self.error, self.calls = times, error, 0

    def __call__(self, state: Any) -> Update:
        self.calls += 1
        if self.calls <= self.left:
            raise self.error("lost")
        return {"log": [f"call {self.calls}"]}


def fast(impl: Any, **options: Any) -> Any:
    """A policy without noticeable pauses."""
    return impl.RetryPolicy(**{"initial_interval": 0.001, "jitter": False, **options})


def around(impl: Any, node: Any, policy: Any = None) -> Any:
    """A graph whose only node is a graph that logs `first` before it reaches the node."""
    inner = impl.sequence(Log, ("first", say("first")), ("n", node))
    builder = impl.StateGraph(Log).add_node("sub", inner, retry_policy=policy)
    return builder.add_edge(impl.START, "sub").compile()


class TestRetry:
    """The policy judges the exception that a node within has raised."""

    @pytest.mark.parametrize(
        ("error", "options", "calls"),
        [
            (ConnectionError, {}, 3),
            (ValueError, {}, 1),
            (KeyError, {}, 1),
            (KeyError, {"retry_on": KeyError}, 3),
            (ValueError, {"retry_on": (KeyError, ValueError)}, 3),
            (ValueError, {"retry_on": lambda error: str(error) == "lost"}, 3),
            (ConnectionError, {"retry_on": KeyError}, 1),
            (ConnectionError, {"max_attempts": 2}, 2),
        ],
    )
    def test_a_failed_graph_works_again_from_its_start(
        self, impl: Impl, run: Run, error: Any, options: Any, calls: int
    ) -> None:
        node = Flaky(2, error)
        graph = around(impl, node, fast(impl, **options))
        if calls == 3:
            assert run(graph, {}) == {"log": ["first", "call 3"]}
        else:
            with pytest.raises(error):
                run(graph, {})
        assert node.calls == calls

    def test_defaults_and_packets_are_tried_again_too(self, impl: Impl, run: Run) -> None:
        inner = impl.sequence(Log, ("n", Flaky(2)))
        builder = impl.StateGraph(Log).set_node_defaults(retry_policy=fast(impl))
        builder.add_node("sub", inner)
        builder.add_conditional_edges(impl.START, lambda _: [impl.Send("sub", {"log": []})])
        assert run(builder.compile(), {}) == {"log": ["call 3"]}

    def test_each_graph_around_has_its_own_attempts(self, impl: Impl, run: Run) -> None:
        node = Flaky(9)
        inner = around(impl, node, fast(impl, max_attempts=2))
        builder = impl.StateGraph(Log)
        builder.add_node("outer", inner, retry_policy=fast(impl, max_attempts=3))
        with pytest.raises(ConnectionError):
            run(builder.add_edge(impl.START, "outer").compile(), {})
        assert node.calls == 6

    def test_a_stored_graph_works_again_too(self) -> None:
        node = Flaky(2)
        inner = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile()
        policy = RetryPolicy(initial_interval=0.001, jitter=False)
        builder = StateGraph(Log).add_node("sub", inner, retry_policy=policy)
        graph = builder.add_edge(START, "sub").compile(checkpointer=MemorySaver())
        config: Any = {"configurable": {"thread_id": "1"}}
        assert graph.invoke({}, config) == {"log": ["call 3"]}
        assert graph.get_state(config).values == {"log": ["call 3"]}


class TestTimeout:
    """The deadlines of all nodes around count, also for a node that runs alone."""

    @pytest.mark.parametrize("depth", [1, 2])
    @pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream"])
    def test_an_async_node_within_is_cancelled(self, depth: int, how: str) -> None:
        seen = []

        async def node(state: Log) -> None:
            try:
                await forever()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        fail_in_time(node, depth, how)
        assert happens(lambda: seen == ["cancelled"])

    @pytest.mark.parametrize("depth", [1, 2])
    @pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream"])
    def test_a_sync_node_within_is_not_waited_for(self, depth: int, how: str) -> None:
        released, ended = threading.Event(), []

        def node(state: Log) -> None:
            released.wait(ENOUGH)
            ended.append(1)

        try:
            fail_in_time(node, depth, how)
            assert not ended
        finally:
            released.set()


def fail_in_time(node: Any, depth: int, how: str) -> None:
    """Run a node within so many graphs, the outermost of which has a time-out."""
    graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile()
    for level in range(depth):
        timeout = 0.05 if level == depth - 1 else None
        builder = StateGraph(Log).add_node("sub", graph, timeout=timeout)
        graph = builder.add_edge(START, "sub").compile()
    ways: dict[str, Callable[[], Any]] = {
        "invoke": lambda: graph.invoke({}),
        "ainvoke": lambda: asyncio.run(graph.ainvoke({})),
        "stream": lambda: list(graph.stream({})),
    }
    with pytest.raises(NodeTimeoutError) as caught:
        ways[how]()
    assert (caught.value.node, caught.value.timeout) == ("sub", 0.05)
