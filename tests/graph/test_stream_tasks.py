"""Streaming of task starts and results, and `debug` (rules 99, 100)."""

from typing import Any

import pytest

from support.oracle import Events, Impl
from support.states import Log, say


@pytest.fixture
def two(impl: Impl) -> Any:
    """`a` -> `b`."""
    return impl.sequence(Log, say("a"), say("b"))


def test_each_task_has_a_start_and_a_result(two: Any, events: Events) -> None:
    start, result, *rest = events(two, {"log": ["in"]}, stream_mode="tasks")
    assert start["name"] == "a"
    assert start["input"] == {"log": ["in"]}
    assert tuple(start["triggers"]) == ("branch:to:a",)
    assert result == {
        "id": start["id"],
        "name": "a",
        "error": None,
        "result": {"log": ["a"]},
        "interrupts": [],
    }
    assert [event["name"] for event in rest] == ["b", "b"]


def test_ids_are_unique_and_look_like_uuids(two: Any, events: Events) -> None:
    got = events(two, {}, stream_mode="tasks")
    ids = {event["id"] for event in got}
    assert len(ids) == 2
    assert all([len(part) for part in text.split("-")] == [8, 4, 4, 4, 12] for text in ids)


def test_all_starts_of_a_step_come_before_its_results(impl: Impl, events: Events) -> None:
    graph = impl.build(Log, {n: say(n) for n in "ab"}, [("__start__", "a"), ("__start__", "b")])
    got = events(graph, {}, stream_mode="tasks")
    assert ["result" in event for event in got] == [False, False, True, True]


def test_a_join_and_a_packet_name_their_triggers(impl: Impl, events: Events) -> None:
    builder = impl.StateGraph(Log)
    for name in "abz":
        builder.add_node(name, say(name))
    builder.add_edge(impl.START, "a").add_edge(impl.START, "b").add_edge(["a", "b"], "z")
    graph = builder.add_conditional_edges("z", lambda s: [impl.Send("packet", {})])
    graph = builder.add_node("packet", say("packet")).compile()
    got = {
        e["name"]: tuple(e["triggers"])
        for e in events(graph, {}, stream_mode="tasks")
        if "triggers" in e
    }
    assert got["z"] == ("branch:to:z", "join:a+b:z")
    assert got["packet"] == ("__pregel_push",)


def test_a_failing_task_has_a_result_with_its_error_before_the_raise(impl: Impl) -> None:
    def fail(state: Log) -> None:
        raise ValueError("mine")

    got: list[Any] = []
    with pytest.raises(ValueError):
        got.extend(impl.sequence(Log, fail).stream({}, stream_mode="tasks"))
    assert len(got) == 2
    assert isinstance(got[1]["error"], ValueError)


def test_an_interrupted_task_reports_its_question(impl: Impl, events: Events) -> None:
    graph = impl.sequence(Log, ("ask", lambda s: impl.interrupt("sure?")))
    _, result = events(graph, {}, stream_mode="tasks")
    [interrupt] = result["interrupts"]
    assert interrupt["value"] == "sure?"


@pytest.mark.parametrize("mode", ["tasks", "debug"])
def test_a_subgraph_reports_the_question_of_its_node(impl: Impl, events: Events, mode: str) -> None:
    asking = impl.sequence(Log, say("in"), ("ask", lambda s: impl.interrupt("sure?")))
    graph = impl.sequence(Log, ("inner", impl.sequence(Log, ("middle", asking))))
    got = events(graph, {}, stream_mode=mode)
    payloads = [event["payload"] for event in got] if mode == "debug" else got
    started, result = (event for event in payloads if "name" in event)
    assert (started["name"], result["name"]) == ("inner", "inner")
    assert result["id"] == started["id"]
    [interrupt] = result["interrupts"]
    assert interrupt["value"] == "sure?"


def test_each_graph_around_a_question_reports_it(impl: Impl, events: Events) -> None:
    asking = impl.sequence(Log, say("in"), ("ask", lambda s: impl.interrupt("sure?")))
    graph = impl.sequence(Log, ("inner", impl.sequence(Log, ("middle", asking))))
    got = events(graph, {}, stream_mode="tasks", subgraphs=True)
    asked = [
        (len(space), chunk["name"], chunk["interrupts"][0]["id"])
        for space, chunk in got
        if chunk.get("interrupts")
    ]
    assert [(depth, name) for depth, name, _ in asked] == [
        (2, "ask"),
        (1, "middle"),
        (0, "inner"),
    ]
    assert len({key for _, _, key in asked}) == 1


def test_a_state_comes_before_the_tasks_that_see_it(two: Any, events: Events) -> None:
    got = events(two, {"log": ["in"]}, stream_mode=["tasks", "values"])
    kinds = [mode if mode == "values" else min(chunk) for mode, chunk in got]
    assert kinds == ["values", "id", "error", "values", "id", "error", "values"]


def test_debug_wraps_tasks_with_step_and_time(two: Any, events: Events) -> None:
    got = events(two, {"log": ["in"]}, stream_mode="debug")
    assert [(event["step"], event["type"]) for event in got] == [
        (1, "task"),
        (1, "task_result"),
        (2, "task"),
        (2, "task_result"),
    ]
    assert got[0]["payload"]["name"] == "a"
    assert "T" in got[0]["timestamp"]


def test_checkpoints_are_silent_without_a_checkpointer(two: Any, events: Events) -> None:
    assert events(two, {}, stream_mode="checkpoints") == []
