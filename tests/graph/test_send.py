"""`Send`: one task per packet (rules 39, 40)."""

import asyncio
import pickle
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from support.oracle import Events, Impl, Run
from support.states import Log, Update, say


def fan(impl: Any, packets: Callable[[Any], list[Any]], work: Any, **options: Any) -> Any:
    """START -packets-> `work`."""
    builder = impl.StateGraph(Log)
    builder.add_node("work", work, **options).add_node("other", say("other"))
    return builder.add_conditional_edges(impl.START, packets).compile()


def echo(argument: Any) -> Update:
    """A node that logs what it was sent."""
    return {"log": [repr(argument)]}


def test_each_packet_is_a_task_and_outputs_apply_in_send_order(impl: Impl, run: Run) -> None:
    graph = fan(impl, lambda s: [impl.Send("work", i) for i in (3, 1, 2)], echo)
    assert run(graph, {}) == {"log": ["3", "1", "2"]}


@pytest.mark.parametrize("argument", [None, 7, "text", ["a"], {"unknown": 1}, {"log": "no list"}])
def test_the_argument_arrives_as_it_is(impl: Impl, run: Run, argument: Any) -> None:
    seen: list[Any] = []
    run(
        fan(impl, lambda s: [impl.Send("work", argument)], seen.append),
        {"log": ["in"]},
    )
    [arrived] = seen
    assert arrived is argument


def test_the_argument_is_not_coerced_to_the_state_class(impl: Impl, run: Run) -> None:
    def work(state: Log) -> Update:
        return {"log": [type(state).__name__]}

    assert run(fan(impl, lambda s: [impl.Send("work", 7)], work), {}) == {"log": ["int"]}


def test_a_packet_runs_in_the_step_after_the_one_that_sent_it(impl: Impl, events: Events) -> None:
    builder = impl.StateGraph(Log)
    builder.add_node("a", say("a")).add_node("b", say("b")).add_node("work", echo)
    builder.add_edge(impl.START, "a").add_edge("a", "b")
    graph = builder.add_conditional_edges("a", lambda s: [impl.Send("work", 1)]).compile()
    assert events(graph, {"log": ["in"]}, stream_mode="values") == [
        {"log": ["in"]},
        {"log": ["in", "a"]},
        {"log": ["in", "a", "b", "1"]},
    ]


def test_a_send_does_not_merge_with_the_edge_to_the_same_node(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log).add_node("a", say("a"))
    builder.add_node("work", lambda x: {"log": ["edge" if isinstance(x, dict) else "sent"]})
    builder.add_edge(impl.START, "a").add_edge("a", "work")
    graph = builder.add_conditional_edges("a", lambda s: [impl.Send("work", 1)]).compile()
    assert run(graph, {}) == {"log": ["a", "edge", "sent"]}


def test_successors_of_a_sent_task_run_once_per_step(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log).add_node("work", echo).add_node("z", say("z"))
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("work", i) for i in range(3)])
    assert run(builder.add_edge("work", "z").compile(), {}) == {"log": ["0", "1", "2", "z"]}


def test_a_router_after_a_sent_task_runs_for_each_packet(impl: Impl, run: Run) -> None:
    builder = (
        impl.StateGraph(Log).add_node("work", echo).add_node("z", lambda n: {"log": [f"z{n}"]})
    )
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("work", i) for i in range(2)])
    builder.add_conditional_edges("work", lambda s: [impl.Send("z", len(s["log"]))])
    assert run(builder.compile(), {}) == {"log": ["0", "1", "z1", "z1"]}


def test_packets_to_several_nodes_keep_send_order(impl: Impl, run: Run) -> None:
    packets = [impl.Send("work", 1), impl.Send("other", {}), impl.Send("work", 2)]
    assert run(fan(impl, lambda s: packets, echo), {}) == {"log": ["1", "other", "2"]}


def test_a_packet_to_an_unknown_node_is_ignored(impl: Impl, run: Run) -> None:
    graph = fan(impl, lambda s: [impl.Send("typo", 1), impl.Send("work", 2)], echo)
    assert run(graph, {}) == {"log": ["2"]}


@pytest.mark.only("antiphon")
def test_strict_raises_for_a_packet_to_an_unknown_node(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log).add_node("work", echo)
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("typo", 1)])
    with pytest.raises(ValueError, match="typo"):
        run(builder.compile(strict=True), {})


def test_a_thousand_packets_run_in_one_step(impl: Impl, run: Run) -> None:
    graph = fan(impl, lambda s: [impl.Send("work", i) for i in range(1000)], echo)
    assert run(graph, {}) == {"log": [str(i) for i in range(1000)]}


def test_blocking_packets_to_one_node_overlap(impl: Impl, run: Run) -> None:
    meeting = threading.Barrier(3)

    def work(n: int) -> Update:
        meeting.wait(10)
        return {"log": [str(n)]}

    graph = fan(impl, lambda s: [impl.Send("work", i) for i in range(3)], work)
    assert run(graph, {}) == {"log": ["0", "1", "2"]}


def test_packets_compare_by_value(impl: Impl) -> None:
    assert impl.Send("a", {"x": 1}) == impl.Send("a", {"x": 1})
    assert impl.Send("a", 1) != impl.Send("a", 2)
    assert impl.Send("a", 1) != impl.Send("b", 1)
    assert hash(impl.Send("a", 1)) == hash(impl.Send("a", 1))
    with pytest.raises(TypeError):
        hash(impl.Send("a", {}))
    assert (impl.Send("a", 1).node, impl.Send("a", 1).arg) == ("a", 1)


@pytest.mark.parametrize("form", ["seconds", "timedelta", "policy"])
def test_a_time_out_of_a_packet_may_have_the_forms_of_a_nodes(impl: Impl, form: str) -> None:
    async def work(_: Any) -> Update:
        await asyncio.Event().wait()
        return {}

    seconds = 0.02
    policy = impl.TimeoutPolicy(run_timeout=seconds)
    timeout = {"seconds": seconds, "timedelta": timedelta(seconds=seconds), "policy": policy}[form]
    graph = fan(impl, lambda _: [impl.Send("work", 1, timeout=timeout)], work)
    with pytest.raises(impl.NodeTimeoutError):
        asyncio.run(graph.ainvoke({}))


@pytest.mark.only("antiphon")
def test_the_idle_time_out_of_a_packet_is_the_nodes(impl: Impl) -> None:
    with pytest.raises(ValueError, match="set `idle_timeout` on the node"):
        impl.Send("work", 1, timeout=impl.TimeoutPolicy(idle_timeout=1))
    sent = impl.Send("work", [1], timeout=3)
    assert pickle.loads(pickle.dumps(sent)).timeout == 3
