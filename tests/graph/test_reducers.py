"""How writes meet in a channel: reducers, conflicts, `Overwrite` (rules 23-25)."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest

from support.oracle import Impl, Run
from support.states import Log, Plain, Update, say, typed


def both(impl: Any, schema: Any, a: Update | None, b: Update | None) -> Any:
    """Compile a graph whose nodes `a` and `b` write in one superstep."""
    nodes = {"a": lambda s: a, "b": lambda s: b}
    return impl.build(schema, nodes, [(impl.START, "a"), (impl.START, "b")])


def schema(reducer: Any, kind: Any = list) -> Any:
    """A state with one reduced key `x`."""
    return typed(x=Annotated[kind, reducer])


class Unmakeable:
    """A type that cannot be made without arguments."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: "Unmakeable") -> "Unmakeable":
        return Unmakeable(self.value + other.value)


def test_two_writers_of_a_plain_key_in_one_step_are_an_error(impl: Impl, run: Run) -> None:
    with pytest.raises(impl.InvalidUpdateError, match="a"):
        run(both(impl, Plain, {"a": 1}, {"a": 2}), {})


def test_two_equal_writes_of_a_plain_key_are_an_error_too(impl: Impl, run: Run) -> None:
    with pytest.raises(impl.InvalidUpdateError):
        run(both(impl, Plain, {"a": 1}, {"a": 1}), {})


def test_two_writers_of_different_keys_are_fine(impl: Impl, run: Run) -> None:
    assert run(both(impl, Plain, {"a": 1}, {"b": 2}), {}) == {"a": 1, "b": 2}


def test_a_reducer_joins_two_writers(impl: Impl, run: Run) -> None:
    assert run(both(impl, Log, {"log": ["a"]}, {"log": ["b"]}), {}) == {"log": ["a", "b"]}


def test_the_input_is_reduced_too(impl: Impl, run: Run) -> None:
    calls = []

    def note(old: list[int], new: list[int]) -> list[int]:
        calls.append((list(old), list(new)))
        return old + new

    run(impl.sequence(schema(note), ("n", lambda s: {"x": [2]})), {"x": [1]})
    assert calls == [([], [1]), ([1], [2])]


def test_a_reducer_folds_from_the_types_empty_value(impl: Impl, run: Run) -> None:
    graph = impl.sequence(schema(operator.add, int), ("n", lambda s: {"x": 5}))
    assert run(graph, {}) == {"x": 5}


def test_without_an_empty_value_the_first_write_is_taken_as_it_is(impl: Impl, run: Run) -> None:
    seen = []
    graph = impl.sequence(
        schema(operator.add, Unmakeable),
        ("look", lambda s: seen.append("x" in s)),
        ("one", lambda s: {"x": Unmakeable(1)}),
        ("two", lambda s: {"x": Unmakeable(2)}),
    )
    assert run(graph, {})["x"].value == 3
    assert seen == [False]


def test_an_abstract_sequence_starts_as_a_list(impl: Impl, run: Run) -> None:
    graph = impl.sequence(schema(operator.add, Sequence[int]), ("n", lambda s: {"x": [1]}))
    assert run(graph, {}) == {"x": [1]}


def test_a_lambda_is_a_reducer(impl: Impl, run: Run) -> None:
    graph = impl.sequence(schema(lambda a, b: {**a, **b}, dict), ("n", lambda s: {"x": {"k": 2}}))
    assert run(graph, {"x": {"j": 1}}) == {"x": {"j": 1, "k": 2}}


def test_the_reducer_is_the_last_item_of_the_metadata(impl: Impl, run: Run) -> None:
    last = Annotated[list[Any], "note", operator.add]
    graph = impl.sequence(typed(x=last), ("n", lambda s: {"x": [2]}))
    assert run(graph, {"x": [1]}) == {"x": [1, 2]}
    not_last = Annotated[list[Any], operator.add, "note"]
    graph = impl.sequence(typed(x=not_last), ("n", lambda s: {"x": [2]}))
    assert run(graph, {"x": [1]}) == {"x": [2]}


def test_a_reducer_of_the_wrong_arity_is_an_error(impl: Impl) -> None:
    with pytest.raises(ValueError, match=r"(?i)invalid reducer signature"):
        impl.StateGraph(schema(lambda only: only))


def test_required_and_not_required_are_looked_through(impl: Impl, run: Run) -> None:
    class State(TypedDict, total=False):
        x: Required[Annotated[list[Any], operator.add]]
        y: NotRequired[Annotated[list[Any], operator.add]]

    graph = impl.sequence(State, ("n", lambda s: {"x": [2], "y": [2]}))
    assert run(graph, {"x": [1], "y": [1]}) == {"x": [1, 2], "y": [1, 2]}


def test_a_failing_reducer_fails_the_run_with_its_own_exception(impl: Impl, run: Run) -> None:
    def reject(old: int, new: int) -> int:
        raise ArithmeticError("no sum")

    with pytest.raises(ArithmeticError, match="no sum"):
        run(impl.sequence(schema(reject, int), ("n", lambda s: {"x": 1})), {})


def test_operator_add_does_not_change_a_list_that_somebody_kept(impl: Impl, run: Run) -> None:
    kept = []

    def keep(state: Log) -> Update:
        kept.append(state["log"])
        return {"log": ["k"]}

    graph = impl.sequence(Log, ("one", keep), ("two", keep), ("three", keep))
    assert run(graph, {"log": ["in"]}) == {"log": ["in", "k", "k", "k"]}
    assert kept == [["in"], ["in", "k"], ["in", "k", "k"]]


def test_operator_add_does_not_change_a_list_that_a_node_returned(impl: Impl, run: Run) -> None:
    mine = ["mine"]
    graph = impl.sequence(Log, ("one", lambda s: {"log": mine}), say("two"), say("three"))
    assert run(graph, {}) == {"log": ["mine", "two", "three"]}
    assert mine == ["mine"]


def test_operator_add_extends_tuples_and_strings(impl: Impl, run: Run) -> None:
    graph = impl.sequence(schema(operator.add, tuple), ("n", lambda s: {"x": (2,)}))
    assert run(graph, {"x": (1,)}) == {"x": (1, 2)}
    graph = impl.sequence(schema(operator.add, str), ("n", lambda s: {"x": "b"}))
    assert run(graph, {"x": "a"}) == {"x": "ab"}


def test_operator_add_of_a_list_and_a_tuple_is_a_type_error(impl: Impl, run: Run) -> None:
    with pytest.raises(TypeError):
        run(impl.sequence(Log, ("n", lambda s: {"log": ("t",)})), {"log": ["in"]})


class TestOverwrite:
    """Replacing what a reducer has collected."""

    @pytest.mark.parametrize("form", ["typed", "dict", "json"])
    def test_overwrite_replaces_the_value_in_each_of_its_forms(
        self, impl: Impl, run: Run, form: Any
    ) -> None:
        value = {
            "typed": impl.Overwrite(["new"]),
            "dict": {"__overwrite__": ["new"]},
            "json": {"type": "__overwrite__", "value": ["new"]},
        }[form]
        graph = impl.sequence(Log, say("a"), ("n", lambda s: {"log": value}), say("z"))
        assert run(graph, {}) == {"log": ["new", "z"]}

    def test_two_in_one_step_are_an_error(self, impl: Impl, run: Run) -> None:
        graph = both(impl, Log, {"log": impl.Overwrite(["a"])}, {"log": impl.Overwrite(["b"])})
        with pytest.raises(impl.InvalidUpdateError):
            run(graph, {})

    @pytest.mark.parametrize("first", [True, False])
    def test_overwrite_wins_over_the_other_writes_of_its_step(
        self, impl: Impl, run: Run, first: Any
    ) -> None:
        writes = [{"log": impl.Overwrite(["new"])}, {"log": ["other"]}]
        graph = both(impl, Log, *(writes if first else reversed(writes)))
        assert run(graph, {"log": ["in"]}) == {"log": ["new"]}

    def test_overwrite_works_in_the_input(self, impl: Impl, run: Run) -> None:
        assert run(impl.sequence(Log, say("a")), {"log": impl.Overwrite(["in"])}) == {
            "log": ["in", "a"]
        }
