"""Building a graph: names, schemas, input, what `compile` checks (rules 2, 7-10, 14, 30)."""

import operator
from collections import UserDict
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from support.oracle import Events, Impl, Run
from support.states import Log, Plain, Update, say


@pytest.mark.parametrize("name", ["__start__", "__end__", "a|b", "a:b"])
def test_a_reserved_or_structured_node_name_is_rejected(impl: Impl, name: Any) -> None:
    with pytest.raises(ValueError):
        impl.StateGraph(Plain).add_node(name, lambda s: {})


def test_a_node_name_is_unique(impl: Impl) -> None:
    builder = impl.StateGraph(Plain).add_node("n", lambda s: {})
    with pytest.raises(ValueError):
        builder.add_node("n", lambda s: {})


def test_a_node_may_be_named_like_a_state_key(impl: Impl, run: Run) -> None:
    graph = impl.build(Plain, {"a": lambda s: {"a": 1}}, [(impl.START, "a")])
    assert run(graph, {"b": 0}) == {"a": 1, "b": 0}


def test_a_node_takes_the_name_of_its_function(impl: Impl, run: Run) -> None:
    def first(state: Log) -> Update:
        return {"log": ["first"]}

    builder = impl.StateGraph(Log).add_node(first)
    graph = builder.add_edge(impl.START, "first").add_edge("first", impl.END).compile()
    assert run(graph, {}) == {"log": ["first"]}


def test_sentinels_have_the_known_spelling(impl: Impl) -> None:
    assert (impl.START, impl.END) == ("__start__", "__end__")


class Narrow(TypedDict):
    """Part of the state, and a key that the state does not have."""

    b: int
    private: str


def test_the_annotation_of_the_first_parameter_is_the_input_schema_and_adds_channels(
    impl: Impl, run: Run
) -> None:
    seen = []

    def write(state: Plain) -> Update:
        return {"private": "secret"}

    def read(state: Narrow) -> Update:
        seen.append(dict(state))
        return {}

    graph = impl.sequence(Plain, write, read)
    assert run(graph, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert seen == [{"b": 2, "private": "secret"}]


def test_input_schema_of_add_node_wins_over_the_state(impl: Impl, run: Run) -> None:
    seen = []
    builder = impl.StateGraph(Plain)
    builder.add_node("n", lambda s: seen.append(dict(s)), input_schema=Narrow)
    run(builder.add_edge(impl.START, "n").compile(), {"a": 1, "b": 2})
    assert seen == [{"b": 2}]


def test_input_and_output_schemas_filter_the_keys(impl: Impl, run: Run) -> None:
    class In(TypedDict):
        a: int

    class Out(TypedDict):
        b: int

    builder = impl.StateGraph(Plain, input_schema=In, output_schema=Out)
    builder.add_node("n", lambda s: {"a": 10, "b": s["a"] + 1})
    graph = builder.add_edge(impl.START, "n").compile()
    assert run(graph, {"a": 1, "b": 50}) == {"b": 2}


def test_a_node_sees_only_the_keys_that_have_a_value(impl: Impl, run: Run) -> None:
    seen = []
    graph = impl.sequence(Plain, ("n", lambda s: seen.append(dict(s))))
    run(graph, {"b": 2})
    assert seen == [{"b": 2}]


def test_a_reducer_key_starts_with_its_empty_value(impl: Impl, run: Run) -> None:
    seen = []
    graph = impl.sequence(Log, ("n", lambda s: seen.append(dict(s))))
    run(graph, {})
    assert seen == [{"log": []}]


class Added(TypedDict):
    """`a` with a reducer."""

    a: Annotated[int, operator.add]


class Joined(TypedDict):
    """`a` with another reducer."""

    a: Annotated[int, operator.or_]


def test_two_different_reducers_for_one_key_are_an_error(impl: Impl) -> None:
    with pytest.raises(ValueError):
        impl.StateGraph(Added, input_schema=Joined)


def test_a_plain_redefinition_of_a_reduced_key_is_tolerated(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Added, input_schema=Plain)
    builder.add_node("n", lambda s: {"a": 1})
    assert run(builder.add_edge(impl.START, "n").compile(), {"a": 1}) == {"a": 2}


class TestEdges:
    """What `add_edge` and `compile` refuse."""

    def test_a_join_needs_its_starts_at_once(self, impl: Impl) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a"))
        with pytest.raises(ValueError):
            builder.add_edge(["a", "later"], "a")

    def test_a_single_edge_may_name_a_later_node(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_edge(impl.START, "a").add_edge("a", "b")
        graph = builder.add_node("a", say("a")).add_node("b", say("b")).compile()
        assert run(graph, {}) == {"log": ["a", "b"]}

    @pytest.mark.parametrize("edge", [("a", "__start__"), ("__end__", "a")])
    def test_start_is_no_target_and_end_no_source(self, impl: Impl, edge: Any) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a"))
        with pytest.raises(ValueError):
            builder.add_edge(*edge)

    def test_an_edge_must_leave_start(self, impl: Impl) -> None:
        with pytest.raises(ValueError):
            impl.StateGraph(Log).add_node("a", say("a")).compile()

    @pytest.mark.parametrize("edge", [("a", "typo"), ("typo", "a")])
    def test_an_edge_to_or_from_an_unknown_node_fails_at_compile(
        self, impl: Impl, edge: Any
    ) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a")).add_edge("__start__", "a")
        builder.add_edge(*edge)
        with pytest.raises(ValueError, match="typo"):
            builder.compile()

    def test_unreachable_nodes_and_dead_ends_are_accepted(self, impl: Impl, run: Run) -> None:
        graph = impl.build(Log, {"a": say("a"), "b": say("b")}, [(impl.START, "a")])
        assert run(graph, {}) == {"log": ["a"]}

    def test_a_compiled_graph_does_not_change_with_its_builder(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a")).add_edge(impl.START, "a")
        graph = builder.compile()
        builder.add_node("b", say("b")).add_edge("a", "b")
        assert run(graph, {}) == {"log": ["a"]}
        assert run(builder.compile(), {}) == {"log": ["a", "b"]}


class TestShortcuts:
    """`add_sequence` and the entry and finish points."""

    def test_a_sequence_runs_in_order_and_takes_named_pairs(self, impl: Impl, run: Run) -> None:
        assert run(impl.sequence(Log, say("a"), ("b", say("x")), say("c")), {}) == {
            "log": ["a", "x", "c"]
        }

    def test_an_empty_sequence_is_an_error(self, impl: Impl) -> None:
        with pytest.raises(ValueError):
            impl.StateGraph(Log).add_sequence([])

    def test_entry_and_finish_points_are_edges(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a"))
        graph = builder.set_entry_point("a").set_finish_point("a").compile()
        assert run(graph, {}) == {"log": ["a"]}

    def test_a_conditional_entry_point_routes_on_the_input(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Plain)
        builder.add_node("left", lambda s: {"b": "left"}).add_node(
            "right", lambda s: {"b": "right"}
        )
        builder.set_conditional_entry_point(lambda s: s["a"], {"l": "left", "r": "right"})
        graph = builder.compile()
        assert run(graph, {"a": "l"})["b"] == "left"
        assert run(graph, {"a": "r"})["b"] == "right"


class TestInput:
    """How the input enters."""

    def test_the_first_values_event_is_the_state_after_the_input(
        self, impl: Impl, events: Events
    ) -> None:
        graph = impl.sequence(Log, say("a"))
        assert events(graph, {"log": ["in"]}, stream_mode="values") == [
            {"log": ["in"]},
            {"log": ["in", "a"]},
        ]

    def test_an_input_that_writes_nothing_has_no_values_event(
        self, impl: Impl, events: Events
    ) -> None:
        assert events(impl.sequence(Log, say("a")), {}, stream_mode="values") == [{"log": ["a"]}]

    def test_no_input_at_all_is_an_empty_input(self, impl: Impl, run: Run) -> None:
        with pytest.raises(impl.EmptyInputError):
            run(impl.sequence(Log, say("a")), None)

    def test_unknown_input_keys_are_dropped(self, impl: Impl, run: Run) -> None:
        assert run(impl.sequence(Log, say("a")), {"log": [], "typo": 1}) == {"log": ["a"]}

    @pytest.mark.only("antiphon")
    def test_the_value_of_an_unknown_key_is_not_asked_for(self, impl: Impl, run: Run) -> None:
        given = Lazy({"log": ["in"], "typo": 1})
        assert run(impl.sequence(Log, say("a")), given) == {"log": ["in", "a"]}
        assert given.asked == ["log"]

    def test_the_callers_input_is_never_changed(self, impl: Impl, run: Run) -> None:
        given = {"log": ["in"]}
        kept = given["log"]
        run(impl.sequence(Log, say("a"), say("b")), given)
        assert given == {"log": ["in"]}
        assert given["log"] is kept

    @pytest.mark.parametrize("bad", ["text", 3, [("log",)]])
    def test_an_input_that_is_no_state_is_an_error(self, impl: Impl, run: Run, bad: Any) -> None:
        with pytest.raises((impl.InvalidUpdateError, TypeError, ValueError)):
            run(impl.sequence(Log, say("a")), bad)


class Lazy(UserDict[str, Any]):
    """A mapping that works for its values."""

    def __init__(self, *given: Any) -> None:
        self.asked: list[str] = []
        super().__init__(*given)

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return super().__getitem__(key)


@dataclass
class Record:
    """A dataclass state."""

    a: Any = "default"
    log: Annotated[list[str], operator.add] = field(default_factory=list)


def test_a_dataclass_state_reaches_the_node_as_an_instance(impl: Impl, run: Run) -> None:
    seen = []

    def node(state: Record) -> Update:
        seen.append(state)
        return {"a": 2, "log": ["n"]}

    assert run(impl.sequence(Record, node), {"log": ["in"]}) == {"a": 2, "log": ["in", "n"]}
    assert seen == [Record("default", ["in"])]


def test_a_dataclass_instance_is_accepted_as_input(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Record, ("n", lambda s: {"log": [s.a]}))
    assert run(graph, Record(a="x", log=["in"])) == {"a": "x", "log": ["in", "x"]}


class TestPydantic:
    """Pydantic state: validated where a node is entered, nowhere else."""

    @pytest.fixture
    def model(self) -> Any:

        class Model(BaseModel):
            a: int = 0
            b: str = ""

        return Model

    def test_a_node_gets_a_validated_instance_but_the_state_keeps_what_was_given(
        self, impl: Impl, run: Run, model: Any
    ) -> None:
        seen = []
        graph = impl.sequence(model, ("n", lambda s: seen.append((type(s), s.a))))
        assert run(graph, {"a": "3"})["a"] == "3"
        assert seen == [(model, 3)]

    def test_a_bad_input_fails_at_the_first_node(self, impl: Impl, run: Run, model: Any) -> None:
        graph = impl.sequence(model, ("n", lambda s: {}))
        with pytest.raises(ValueError, match="a"):
            run(graph, {"a": "three"})

    def test_a_bad_update_fails_at_the_next_node_only(
        self, impl: Impl, run: Run, model: Any
    ) -> None:
        bad = ("bad", lambda s: {"a": "three"})
        assert run(impl.sequence(model, bad), {})["a"] == "three"
        with pytest.raises(ValueError):
            run(impl.sequence(model, bad, ("next", lambda s: {})), {})

    def test_the_result_is_a_plain_dict(self, impl: Impl, run: Run, model: Any) -> None:
        result = run(impl.sequence(model, ("n", lambda s: {"a": 1})), model(b="x"))
        assert type(result) is dict
        assert result == {"a": 1, "b": "x"}
