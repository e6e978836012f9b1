"""Edges, branches, joins and deferral (rules 33-38)."""

import re
from collections.abc import Callable
from typing import Any, Literal

import pytest

from antiphon.graph import START, GraphBuildError, InvalidUpdateError, StateGraph
from support.oracle import Impl, Run
from support.states import Log, Plain, Update, say


def routed(impl: Any, route: Callable[..., Any], *path_map: Any, **options: Any) -> Any:
    """`a` -route-> `b` or `c`."""
    builder = impl.StateGraph(Log)
    for name in "abc":
        builder.add_node(name, say(name))
    builder.add_edge(impl.START, "a").add_conditional_edges("a", route, *path_map)
    return builder.compile(**options)


class TestSingleEdges:
    """Edges from one node to one node."""

    def test_two_that_fire_in_one_step_run_the_target_once(self, impl: Impl, run: Run) -> None:
        edges = [("__start__", "a"), ("__start__", "b"), ("a", "c"), ("b", "c")]
        graph = impl.build(Log, {n: say(n) for n in "abc"}, edges)
        assert run(graph, {}) == {"log": ["a", "b", "c"]}

    def test_two_that_fire_in_different_steps_run_the_target_twice(
        self, impl: Impl, run: Run
    ) -> None:
        edges = [("__start__", "a"), ("__start__", "c"), ("a", "b"), ("b", "c")]
        graph = impl.build(Log, {n: say(n) for n in "abc"}, edges)
        assert run(graph, {}) == {"log": ["a", "c", "b", "c"]}

    def test_a_node_may_have_several_successors(self, impl: Impl, run: Run) -> None:
        graph = impl.build(
            Log, {n: say(n) for n in "abc"}, [("__start__", "b"), ("b", "a"), ("b", "c")]
        )
        assert run(graph, {}) == {"log": ["b", "a", "c"]}

    def test_an_edge_beside_a_branch_fires_too(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log)
        for name in "abc":
            builder.add_node(name, say(name))
        builder.add_edge(impl.START, "a").add_edge("a", "b")
        graph = builder.add_conditional_edges("a", lambda s: "c").compile()
        assert run(graph, {}) == {"log": ["a", "b", "c"]}


class TestJoins:
    """`add_edge([...], node)`."""

    def test_a_join_runs_once_when_all_its_starts_have_run(self, impl: Impl, run: Run) -> None:
        edges = [("__start__", "a"), ("__start__", "b"), ("b", "c"), (["a", "c"], "z")]
        graph = impl.build(Log, {n: say(n) for n in "abcz"}, edges)
        assert run(graph, {}) == {"log": ["a", "b", "c", "z"]}

    def test_a_join_whose_start_never_runs_never_fires(self, impl: Impl, run: Run) -> None:
        graph = impl.build(Log, {n: say(n) for n in "abz"}, [("__start__", "a"), (["a", "b"], "z")])
        assert run(graph, {}) == {"log": ["a"]}

    def test_a_join_can_fire_again_after_it_has_fired(self, impl: Impl, run: Run) -> None:
        def again(state: Log) -> list[str]:
            return ["a", "b"] if len(state["log"]) < 6 else []

        builder = impl.StateGraph(Log)
        for name in "abz":
            builder.add_node(name, say(name))
        builder.add_edge(impl.START, "a").add_edge(impl.START, "b").add_edge(["a", "b"], "z")
        graph = builder.add_conditional_edges("z", again).compile()
        assert run(graph, {}) == {"log": ["a", "b", "z"] * 2}

    def test_a_start_that_runs_twice_counts_once(self, impl: Impl, run: Run) -> None:
        def loop(state: Log) -> list[str]:
            return ["a"] if state["log"].count("a") < 2 else ["b"]

        builder = impl.StateGraph(Log)
        for name in "abz":
            builder.add_node(name, say(name))
        builder.add_edge(impl.START, "a").add_conditional_edges("a", loop)
        graph = builder.add_edge(["a", "b"], "z").compile()
        assert run(graph, {}) == {"log": ["a", "a", "b", "z"]}


class TestBranches:
    """What a router sees and what it may return."""

    def test_a_name_a_list_and_a_tuple_are_taken(self, impl: Impl, run: Run) -> None:
        assert run(routed(impl, lambda s: "b"), {}) == {"log": ["a", "b"]}
        assert run(routed(impl, lambda s: ["c", "b"]), {}) == {"log": ["a", "b", "c"]}
        assert run(routed(impl, lambda s: ("c",)), {}) == {"log": ["a", "c"]}

    @pytest.mark.parametrize("nowhere", ["__end__", [], ["__end__"]])
    def test_end_and_the_empty_list_lead_nowhere(self, impl: Impl, run: Run, nowhere: Any) -> None:
        assert run(routed(impl, lambda s: nowhere), {}) == {"log": ["a"]}

    def test_end_beside_a_name_does_not_cancel_it(self, impl: Impl, run: Run) -> None:
        assert run(routed(impl, lambda s: ["__end__", "b"]), {}) == {"log": ["a", "b"]}

    def test_a_path_map_translates_any_hashable(self, impl: Impl, run: Run) -> None:
        graph = routed(impl, lambda s: len(s["log"]) == 1, {True: "b", False: impl.END})
        assert run(graph, {}) == {"log": ["a", "b"]}
        assert run(graph, {"log": ["in"]}) == {"log": ["in", "a"]}

    def test_a_path_map_translates_each_item_of_a_list(self, impl: Impl, run: Run) -> None:
        graph = routed(impl, lambda s: ["x", "y"], {"x": "c", "y": "b"})
        assert run(graph, {}) == {"log": ["a", "b", "c"]}

    def test_a_path_list_maps_names_to_themselves(self, impl: Impl, run: Run) -> None:
        assert run(routed(impl, lambda s: "b", ["b", "c"]), {}) == {"log": ["a", "b"]}

    def test_a_key_that_the_map_lacks_is_a_key_error(self, impl: Impl, run: Run) -> None:
        with pytest.raises(KeyError):
            run(routed(impl, lambda s: "typo", {"x": "b"}), {})

    def test_a_map_to_an_unknown_node_fails_at_compile(self, impl: Impl) -> None:
        with pytest.raises(ValueError, match="typo"):
            routed(impl, lambda s: "x", {"x": "typo"})

    @pytest.mark.parametrize("wrong", [None, "__start__"])
    def test_a_branch_to_none_or_start_is_a_value_error(
        self, impl: Impl, run: Run, wrong: Any
    ) -> None:
        with pytest.raises(ValueError):
            run(routed(impl, lambda s: wrong), {})

    def test_a_send_to_end_is_an_invalid_update(self, impl: Impl, run: Run) -> None:
        with pytest.raises(impl.InvalidUpdateError):
            run(routed(impl, lambda s: impl.Send(impl.END, {})), {})

    def test_an_unknown_name_ends_the_run_quietly(self, impl: Impl, run: Run) -> None:
        assert run(routed(impl, lambda s: "typo"), {}) == {"log": ["a"]}

    @pytest.mark.only("antiphon")
    def test_strict_raises_for_an_unknown_name(self, impl: Impl, run: Run) -> None:
        with pytest.raises(ValueError, match="typo"):
            run(routed(impl, lambda s: "typo", strict=True), {})

    def test_a_failing_router_fails_the_run_with_its_own_exception(
        self, impl: Impl, run: Run
    ) -> None:
        with pytest.raises(ZeroDivisionError):
            run(routed(impl, lambda s: 1 / 0), {})

    def test_a_router_sees_its_own_nodes_writes_but_not_its_siblings(
        self, impl: Impl, run: Run
    ) -> None:
        seen = {}

        def note(name: str) -> Callable[[Log], list[str]]:
            def route(state: Log) -> list[str]:
                seen[name] = list(state["log"])
                return []

            return route

        builder = impl.StateGraph(Log)
        for name in "ab":
            builder.add_node(name, say(name)).add_edge(impl.START, name)
            builder.add_conditional_edges(name, note(name))
        assert run(builder.compile(), {"log": ["in"]}) == {"log": ["in", "a", "b"]}
        assert seen == {"a": ["in", "a"], "b": ["in", "b"]}

    def test_a_router_sees_returned_keys_that_are_not_in_the_state(
        self, impl: Impl, run: Run
    ) -> None:
        seen = []

        def route(state: Any) -> list[str]:
            seen.append(dict(state))
            return []

        builder = impl.StateGraph(Plain).add_node("n", lambda s: {"a": 1, "extra": 2})
        builder.add_edge(impl.START, "n")
        graph = builder.add_conditional_edges("n", route).compile()
        assert run(graph, {"b": 0}) == {"a": 1, "b": 0}
        assert seen == [{"a": 1, "b": 0, "extra": 2}]

    def test_two_branches_of_one_function_name_on_one_node_are_an_error(self, impl: Impl) -> None:
        def route(state: Log) -> str:
            return "b"

        builder = impl.StateGraph(Log).add_node("a", say("a")).add_conditional_edges("a", route)
        with pytest.raises(ValueError):
            builder.add_conditional_edges("a", route)

    def test_two_branches_on_one_node_both_count(self, impl: Impl, run: Run) -> None:
        def left(state: Log) -> str:
            return "b"

        def right(state: Log) -> str:
            return "c"

        builder = impl.StateGraph(Log)
        for name in "abc":
            builder.add_node(name, say(name))
        builder.add_edge(impl.START, "a").add_conditional_edges("a", left)
        assert run(builder.add_conditional_edges("a", right).compile(), {}) == {
            "log": ["a", "b", "c"]
        }

    def test_a_literal_return_annotation_is_a_path_map(self, impl: Impl, run: Run) -> None:
        def route(state: Log) -> Literal["b"]:
            return "c"  # type: ignore[return-value]

        with pytest.raises(KeyError):
            run(routed(impl, route), {})

    def test_a_given_path_map_wins_over_the_annotation(self, impl: Impl, run: Run) -> None:
        def route(state: Log) -> Literal["b"]:
            return "c"  # type: ignore[return-value]

        assert run(routed(impl, route, {"c": "b"}), {}) == {"log": ["a", "b"]}

    def test_an_annotated_router_gets_that_part_of_the_state(self, impl: Impl, run: Run) -> None:
        seen = []

        def route(state: Log) -> list[str]:
            seen.append(dict(state))
            return []

        class Wide(Log, Plain):
            pass

        builder = impl.StateGraph(Wide).add_node("n", lambda s: {"a": 1})
        builder.add_edge(impl.START, "n").add_conditional_edges("n", route)
        run(builder.compile(), {"log": ["in"]})
        assert seen == [{"log": ["in"]}]


class TestLoops:
    """A branch back."""

    def test_a_loop_runs_until_its_router_ends_it(self, impl: Impl, run: Run) -> None:
        def more(state: Log) -> str:
            return "n" if len(state["log"]) < 5 else impl.END

        builder = impl.StateGraph(Log).add_node("n", say("n")).add_edge(impl.START, "n")
        assert run(builder.add_conditional_edges("n", more).compile(), {}) == {"log": ["n"] * 5}


class TestDefer:
    """`defer=True`: after everything else, once."""

    def test_a_deferred_node_waits_for_branches_of_any_length(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log)
        for name in "abc":
            builder.add_node(name, say(name))
        builder.add_node("last", say("last"), defer=True)
        for edge in [
            ("__start__", "a"),
            ("__start__", "b"),
            ("b", "c"),
            ("a", "last"),
            ("c", "last"),
        ]:
            builder.add_edge(*edge)
        assert run(builder.compile(), {}) == {"log": ["a", "b", "c", "last"]}

    def test_a_deferred_node_runs_its_successors(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log).add_node("a", say("a"))
        builder.add_node("d", say("d"), defer=True).add_node("z", say("z"))
        builder.add_edge(impl.START, "a").add_edge(impl.START, "d")
        assert run(builder.add_edge("d", "z").compile(), {}) == {"log": ["a", "d", "z"]}

    def test_a_deferred_join_waits_too(self, impl: Impl, run: Run) -> None:
        builder = impl.StateGraph(Log)
        for name in "abcx":
            builder.add_node(name, say(name))
        builder.add_node("last", say("last"), defer=True)
        builder.add_edge(impl.START, "a").add_edge(impl.START, "b").add_edge(impl.START, "x")
        builder.add_edge("x", "c").add_edge(["a", "b"], "last")
        assert run(builder.compile(), {}) == {"log": ["a", "b", "x", "c", "last"]}

    def test_a_deferred_node_sees_the_writes_of_all_sends(self, impl: Impl, run: Run) -> None:
        def fan(state: Log) -> list[Any]:
            return [impl.Send("work", i) for i in range(3)]

        def total(state: Log) -> Update:
            return {"log": [str(len(state["log"]))]}

        builder = impl.StateGraph(Log).add_node("work", lambda i: {"log": [f"w{i}"]})
        builder.add_node("total", total, defer=True)
        builder.add_conditional_edges(impl.START, fan)
        graph = builder.add_edge("work", "total").compile()
        assert run(graph, {}) == {"log": ["w0", "w1", "w2", "3"]}


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("answer", [3, None, True, b"n", {"n": 1}, ["n", 3]])
def test_a_router_that_returns_nonsense_is_a_typed_error_with_the_answer(
    impl: Impl, run: Run, answer: Any
) -> None:
    builder = impl.StateGraph(Log).add_node("n", say("n")).add_edge(impl.START, "n")
    graph = builder.add_conditional_edges("n", lambda s: answer).compile()
    wrong = answer[1] if isinstance(answer, list) else answer
    with pytest.raises(InvalidUpdateError, match=re.escape(f"not a target: {wrong!r}")) as caught:
        run(graph, {})
    assert isinstance(caught.value, ValueError)
    assert caught.value.code == "target_unknown"
    assert caught.value.hint


@pytest.mark.only("antiphon")
def test_what_cannot_be_called_is_refused_by_name_where_it_is_added(impl: Impl) -> None:
    with pytest.raises(TypeError, match="node `n` runs must be callable, found: int"):
        impl.StateGraph(Log).add_node("n", 3)


def test_a_misspelt_node_and_a_missing_start_get_a_hint() -> None:
    def builder() -> StateGraph[Any]:
        return StateGraph(dict[str, Any]).add_node("plan", lambda state: {})

    with pytest.raises(GraphBuildError, match="did you mean `plan`"):
        builder().add_edge(START, "plna").compile()
    with pytest.raises(GraphBuildError, match=r"add_edge\(START, 'plan'\)"):
        builder().compile()


def test_a_builder_is_compiled_before_it_runs() -> None:
    builder: Any = StateGraph(dict[str, Any])
    with pytest.raises(AttributeError, match="no attribute: invoke; call `compile"):
        builder.invoke({})
    with pytest.raises(AttributeError, match=r"no attribute: edges_of$"):
        _ = builder.edges_of
