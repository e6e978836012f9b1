"""`version="v2"`: each part of a stream carries its type and namespace (rule 103)."""

from pydantic import BaseModel

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
