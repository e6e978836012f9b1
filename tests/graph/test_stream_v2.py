"""`version="v2"`: each part of a stream carries its type and namespace (rule 103)."""

import pickle
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon.graph import GraphBuildError
from support.oracle import Events, Impl, Run
from support.states import Log, Plain, say


def test_each_part_has_type_namespace_and_data(impl: Impl, events: Events) -> None:
    graph = impl.sequence(Log, say("a"))
    assert events(graph, {}, version="v2") == [
        {"type": "updates", "ns": (), "data": {"a": {"log": ["a"]}}}
    ]


def test_many_modes_have_the_same_shape(impl: Impl, events: Events) -> None:
    graph = impl.sequence(Log, say("a"))
    got = events(graph, {}, version="v2", stream_mode=["updates", "values"])
    assert [(part["type"], part["ns"], part["data"]) for part in got] == [
        ("updates", (), {"a": {"log": ["a"]}}),
        ("values", (), {"log": ["a"]}),
    ]


def test_a_values_part_carries_the_interrupts(impl: Impl, events: Events) -> None:
    graph = impl.sequence(Log, say("a"), ("ask", lambda s: impl.interrupt("sure?")))
    got = events(graph, {}, version="v2", stream_mode="values")
    assert [len(part["interrupts"]) for part in got] == [0, 1]
    assert got[-1]["interrupts"][0].value == "sure?"
    assert "__interrupt__" not in got[-1]["data"]


def test_invoke_returns_value_and_interrupts(impl: Impl, run: Run) -> None:
    result = run(impl.sequence(Log, say("a")), {}, version="v2")
    assert (result.value, result.interrupts) == ({"log": ["a"]}, ())


def test_a_subgraphs_parts_carry_its_namespace(impl: Impl, events: Events) -> None:
    inner = impl.sequence(Plain, ("deep", lambda s: {"a": 1}))
    graph = impl.sequence(Plain, ("inner", inner))
    got = events(graph, {"a": 0}, version="v2", subgraphs=True)
    assert [len(part["ns"]) for part in got] == [1, 0]


def test_the_value_is_an_instance_of_the_state_class(impl: Impl, run: Run) -> None:

    class Model(BaseModel):
        a: int = 0

    result = run(impl.sequence(Model, ("n", lambda s: {"a": s.a + 1})), {"a": 1}, version="v2")
    assert result.value == Model(a=2)


def test_a_pause_has_its_questions_and_finished_siblings_beside(impl: Impl, run: Run) -> None:
    nodes = {"ask": lambda s: impl.interrupt("sure?"), "other": say("other")}
    graph = impl.build(Log, nodes, [("__start__", "ask"), ("__start__", "other")])
    result = run(graph, {}, version="v2")
    assert result.value == {"log": ["other"]}
    assert [interrupt.value for interrupt in result.interrupts] == ["sure?"]


def test_messages_and_tasks_have_the_same_shape(impl: Impl, events: Events) -> None:
    message = impl.AIMessage(content="hello", id="1")
    graph = impl.sequence(impl.MessagesState, ("n", lambda s: {"messages": [message]}))
    got = events(graph, {"messages": ["hi"]}, version="v2", stream_mode=["messages", "tasks"])
    assert sorted(part["type"] for part in got) == ["messages", "tasks", "tasks"]
    [(shown, metadata)] = [part["data"] for part in got if part["type"] == "messages"]
    assert (shown.content, metadata["langgraph_node"]) == ("hello", "n")


@pytest.mark.only("antiphon")
def test_what_invoke_returned_at_a_pause_can_be_resumed(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Log, ("ask", lambda s: {"log": [impl.interrupt("sure?")]}))
    paused = run(graph, {}, version="v2")
    done = graph.resume(paused, "yes")
    assert (done.value, done.interrupts) == ({"log": ["yes"]}, ())
    with pytest.raises(ValueError, match="does not wait"):
        graph.resume(done, "again")
    assert pickle.loads(pickle.dumps(paused)) == paused


@pytest.mark.only("antiphon")
def test_an_unknown_version_is_an_error(impl: Impl, run: Run, events: Events) -> None:
    graph = impl.sequence(Log, say("a"))
    for call in (run, events):
        with pytest.raises(ValueError, match="v9"):
            call(graph, {}, version="v9")


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("what", ["t", None, {"a": 1}])
def test_what_is_no_pause_cannot_be_resumed(impl: Impl, what: Any) -> None:
    graph = impl.sequence(Plain, ("n", lambda state: None))
    with pytest.raises(GraphBuildError, match="`resume` takes the paused result of `invoke`"):
        graph.resume(what, "yes")
