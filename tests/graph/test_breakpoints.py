"""`interrupt_before` and `interrupt_after`: stopping between two supersteps."""

from typing import Any

import pytest

from support.oracle import Events, Impl, Run
from support.states import Log, say

ONE = {"configurable": {"thread_id": "1"}}


def chain(impl: Impl, **options: Any) -> Any:
    options.setdefault("checkpointer", impl.MemorySaver())
    return impl.sequence(Log, say("a"), say("b"), say("c"), **options)


@pytest.mark.parametrize(
    "options", [{"interrupt_before": ["b"]}, {"interrupt_after": ["a"]}], ids=["before", "after"]
)
def test_a_run_stops_and_continues_with_no_input(
    impl: Impl, run: Run, options: dict[str, Any]
) -> None:
    graph = chain(impl, **options)
    assert run(graph, {}, ONE) == {"log": ["a"]}
    state = graph.get_state(ONE)
    assert state.next == ("b",)
    assert state.interrupts == ()
    assert run(graph, None, ONE) == {"log": ["a", "b", "c"]}
    assert graph.get_state(ONE).next == ()


def test_options_of_a_call_replace_those_of_the_graph(impl: Impl, run: Run) -> None:
    graph = chain(impl, interrupt_before=["b"])
    assert run(graph, {}, ONE, interrupt_before=["c"]) == {"log": ["a", "b"]}
    assert run(graph, None, ONE) == {"log": ["a", "b", "c"]}


def test_a_star_stands_for_all_nodes(impl: Impl, run: Run) -> None:
    graph = chain(impl, interrupt_before="*")
    assert run(graph, {"log": ["0"]}, ONE) == {"log": ["0"]}
    assert run(graph, None, ONE) == {"log": ["0", "a"]}
    assert run(graph, None, ONE) == {"log": ["0", "a", "b"]}
    assert run(graph, None, ONE) == {"log": ["0", "a", "b", "c"]}


def test_a_stream_ends_with_an_empty_interrupt(impl: Impl, events: Events) -> None:
    graph = chain(impl, interrupt_before=["b"])
    assert events(graph, {}, ONE) == [{"a": {"log": ["a"]}}, {"__interrupt__": ()}]
    assert events(graph, None, ONE) == [{"b": {"log": ["b"]}}, {"c": {"log": ["c"]}}]


def test_an_update_of_the_state_reaches_the_node(impl: Impl, run: Run) -> None:
    graph = chain(impl, interrupt_before=["b"])
    run(graph, {}, ONE)
    graph.update_state(ONE, {"log": ["edited"]})
    assert graph.get_state(ONE).next == ("b",)
    assert run(graph, None, ONE) == {"log": ["a", "edited", "b", "c"]}


def test_a_loop_stops_each_time(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log)
    builder.add_node("a", say("a"))
    builder.add_node("b", say("b"))
    builder.add_edge(impl.START, "a")
    builder.add_edge("a", "b")
    builder.add_conditional_edges("b", lambda state: "a" if len(state["log"]) < 4 else impl.END)
    graph = builder.compile(checkpointer=impl.MemorySaver(), interrupt_before=["b"])
    assert run(graph, {}, ONE) == {"log": ["a"]}
    assert run(graph, None, ONE) == {"log": ["a", "b", "a"]}
    assert run(graph, None, ONE) == {"log": ["a", "b", "a", "b"]}


def test_a_send_stops_too(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log)
    builder.add_node("work", say("work"))
    builder.add_conditional_edges(impl.START, lambda _: [impl.Send("work", {})] * 2)
    graph = builder.compile(checkpointer=impl.MemorySaver(), interrupt_before=["work"])
    assert run(graph, {"log": ["0"]}, ONE) == {"log": ["0"]}
    assert run(graph, None, ONE) == {"log": ["0", "work", "work"]}


def test_an_attribute_of_the_graph_sets_them(impl: Impl, run: Run) -> None:
    graph = chain(impl)
    graph.interrupt_before_nodes = ["b"]
    assert run(graph, {}, ONE) == {"log": ["a"]}


def test_an_unknown_node_is_an_error_when_compiled(impl: Impl) -> None:
    with pytest.raises(ValueError, match="typo"):
        chain(impl, interrupt_before=["typo"])


@pytest.mark.only("antiphon")
@pytest.mark.parametrize(
    ("given", "message"),
    [("b", "must be a list of node names"), (["typo"], "names an unknown node: typo")],
)
def test_a_call_refuses_what_names_no_node(impl: Impl, given: Any, message: str) -> None:
    with pytest.raises(impl.GraphBuildError, match=message):
        chain(impl).invoke({}, ONE, interrupt_after=given)


@pytest.mark.only("antiphon")
def test_a_stopped_run_waits_and_is_not_recovered(impl: Impl) -> None:
    saver = impl.MemorySaver()
    chain(impl, checkpointer=saver, interrupt_before=["b"]).invoke({}, ONE)
    (listed,) = saver.threads()
    assert listed.status == "paused"


@pytest.mark.only("antiphon")
def test_a_graph_with_breakpoints_is_no_part_of_another(impl: Impl) -> None:
    inner = chain(impl, checkpointer=None, interrupt_before=["b"])
    with pytest.raises(impl.GraphBuildError, match="cannot stop at breakpoints"):
        impl.build(Log, {"inner": inner}, [(impl.START, "inner")])
    outer = impl.build(Log, {"n": inner.invoke}, [(impl.START, "n")])
    with pytest.raises(impl.GraphBuildError, match="call `interrupt` in its node"):
        outer.invoke({})
