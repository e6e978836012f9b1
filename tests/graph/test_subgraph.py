"""Graphs inside graphs (rules 72, 74, 77) and `Command.PARENT` (rule 43)."""

import asyncio
from typing import Any, TypedDict

import pytest

from support.oracle import Impl, Run
from support.states import Log, Plain, Update, say, typed


class Inner(TypedDict, total=False):
    """Shares `a` with `Plain`."""

    a: Any
    own: Any


class TestAsNode:
    """A compiled graph given to `add_node`."""

    def test_shared_keys_go_in_and_come_out(self, impl: Impl, run: Run) -> None:
        seen = []

        def node(state: Inner) -> Update:
            seen.append(dict(state))
            return {"a": state["a"] + 1, "own": "private"}

        outer = impl.sequence(Plain, ("inner", impl.sequence(Inner, node)))
        assert run(outer, {"a": 1, "b": 2}) == {"a": 2, "b": 2}
        assert seen == [{"a": 1}]

    def test_the_whole_output_of_a_subgraph_is_reduced_so_a_shared_list_doubles(
        self, impl: Impl, run: Run
    ) -> None:
        outer = impl.sequence(Log, ("inner", impl.sequence(Log, say("k"))))
        assert run(outer, {"log": ["in"]}) == {"log": ["in", "in", "k"]}

    def test_a_subgraph_may_contain_a_subgraph(self, impl: Impl, run: Run) -> None:
        innermost = impl.sequence(Inner, ("n", lambda s: {"a": s["a"] * 2}))
        middle = impl.sequence(Inner, ("innermost", innermost), ("n", lambda s: {"a": s["a"] + 1}))
        assert run(impl.sequence(Plain, ("middle", middle)), {"a": 5}) == {"a": 11}

    def test_each_visit_starts_afresh(self, impl: Impl, run: Run) -> None:
        inner = impl.sequence(Inner, ("n", lambda s: {"own": 1, "a": s["a"] + s.get("own", 0) + 1}))
        outer = impl.sequence(Plain, ("one", inner), ("two", inner))
        assert run(outer, {"a": 0}) == {"a": 2}

    def test_two_in_one_step(self, impl: Impl, run: Run) -> None:
        one = impl.sequence(Log, say("1"))
        two = impl.sequence(Log, say("2"))
        outer = impl.build(
            Log, {"one": one, "two": two}, [("__start__", "one"), ("__start__", "two")]
        )
        assert run(outer, {}) == {"log": ["1", "2"]}

    def test_by_send_it_gets_the_argument_as_its_input(self, impl: Impl, run: Run) -> None:
        inner = impl.sequence(Plain, ("n", lambda s: {"a": s["a"] * 10}))
        builder = impl.StateGraph(typed(a=Any)).add_node("inner", inner)
        builder.add_conditional_edges(impl.START, lambda s: [impl.Send("inner", {"a": 4})])
        assert run(builder.compile(), {"a": 1}) == {"a": 40}

    def test_a_failure_comes_out_as_it_is(self, impl: Impl, run: Run) -> None:
        outer = impl.sequence(Plain, ("inner", impl.sequence(Plain, ("n", lambda s: 1 / 0))))
        with pytest.raises(ZeroDivisionError):
            run(outer, {"a": 1})

    def test_the_recursion_limit_counts_per_graph(self, impl: Impl, run: Run) -> None:
        inner = impl.sequence(Plain, *[(f"n{i}", lambda s: {"b": 1}) for i in range(4)])
        outer = impl.sequence(Plain, ("inner", inner))
        assert run(outer, {"a": 1}, {"recursion_limit": 5}) == {"a": 1, "b": 1}
        with pytest.raises(impl.GraphRecursionError):
            run(outer, {"a": 1}, {"recursion_limit": 4})

    def test_a_subgraph_may_have_async_nodes(self, impl: Impl) -> None:
        async def node(state: Inner) -> Update:
            await asyncio.sleep(0)
            return {"a": state["a"] + 1}

        outer = impl.sequence(Plain, ("inner", impl.sequence(Inner, node)))
        assert asyncio.run(outer.ainvoke({"a": 1})) == {"a": 2}


class TestInvokedByANode:
    """A compiled graph called from a node's code."""

    def test_an_invoked_graph_has_its_own_state(self, impl: Impl, run: Run) -> None:
        inner = impl.sequence(typed(x=int), ("n", lambda s: {"x": s["x"] + 1}))
        outer = impl.sequence(Plain, ("n", lambda s: {"b": inner.invoke({"x": s["a"]})["x"]}))
        assert run(outer, {"a": 1}) == {"a": 1, "b": 2}

    def test_several_times_and_by_await(self, impl: Impl) -> None:
        inner = impl.sequence(typed(x=int), ("n", lambda s: {"x": s["x"] + 1}))

        async def node(state: Plain) -> Update:
            results = [await inner.ainvoke({"x": i}) for i in range(3)]
            results += await asyncio.gather(*(inner.ainvoke({"x": i}) for i in range(3)))
            return {"b": [result["x"] for result in results]}

        assert asyncio.run(impl.sequence(Plain, node).ainvoke({}))["b"] == [1, 2, 3, 1, 2, 3]

    def test_a_graph_may_call_itself(self, impl: Impl, run: Run) -> None:
        graphs: list[Any] = []

        def node(state: Plain) -> Update:
            depth = state["a"]
            return {"b": graphs[0].invoke({"a": depth - 1})["b"] + 1 if depth else 0}

        graphs.append(impl.sequence(Plain, node))
        assert run(graphs[0], {"a": 5}) == {"a": 5, "b": 5}


class TestParent:
    """`Command(graph=Command.PARENT)`."""

    def outer(self, impl: Any, command: Any, *edges: tuple[str, str]) -> Any:
        """`inner` (which returns `command` after its own write) beside `x` and `y`."""
        nodes = {"own": say("own"), "up": lambda s: command, "never": say("never")}
        inner = impl.build(Log, nodes, [("__start__", "own"), ("own", "up"), ("up", "never")])
        around = {"inner": inner, "x": say("x"), "y": say("y")}
        return impl.build(Log, around, [("__start__", "inner"), *edges])

    def test_update_and_goto_apply_to_the_parent_and_the_childs_own_writes_are_lost(
        self, impl: Impl, run: Run
    ) -> None:
        command = impl.Command(graph=impl.Command.PARENT, update={"log": ["up"]}, goto="x")
        assert run(self.outer(impl, command), {"log": ["in"]}) == {"log": ["in", "up", "x"]}

    def test_the_parents_edges_fire_too(self, impl: Impl, run: Run) -> None:
        command = impl.Command(graph=impl.Command.PARENT, goto="x")
        assert run(self.outer(impl, command, ("inner", "y")), {}) == {"log": ["x", "y"]}

    def test_goto_takes_packets_of_the_parent(self, impl: Impl, run: Run) -> None:
        packets = [impl.Send("x", {}), impl.Send("x", {})]
        command = impl.Command(graph=impl.Command.PARENT, goto=packets)
        assert run(self.outer(impl, command), {}) == {"log": ["x", "x"]}

    def test_a_command_to_the_parent_goes_up_one_level_only(self, impl: Impl, run: Run) -> None:
        command = impl.Command(graph=impl.Command.PARENT, update={"log": ["up"]}, goto="m")
        innermost = impl.sequence(Log, ("up", lambda s: command))
        middle = impl.build(
            Log, {"innermost": innermost, "m": say("m")}, [("__start__", "innermost")]
        )
        outer = impl.build(Log, {"middle": middle, "m": say("wrong")}, [("__start__", "middle")])
        assert run(outer, {}) == {"log": ["up", "m"]}

    def test_a_command_reaches_the_parent_from_an_invoked_child(self, impl: Impl, run: Run) -> None:
        command = impl.Command(graph=impl.Command.PARENT, update={"log": ["up"]}, goto="x")
        inner = impl.sequence(Log, ("up", lambda s: command))

        def call(state: Log) -> Update:
            inner.invoke({})
            return {"log": ["never"]}

        outer = impl.build(Log, {"call": call, "x": say("x")}, [("__start__", "call")])
        assert run(outer, {}) == {"log": ["up", "x"]}

    def test_at_the_root_it_reaches_the_caller(self, impl: Impl, run: Run) -> None:
        command = impl.Command(graph=impl.Command.PARENT, goto="x")
        with pytest.raises(impl.ParentCommand) as caught:
            run(impl.sequence(Log, ("up", lambda s: command)), {})
        assert caught.value.args[0].goto == "x"

    def test_two_agents_hand_over_to_each_other(self, impl: Impl, run: Run) -> None:
        def agent(name: str, other: str) -> Any:
            def node(state: Plain) -> Any:
                if state["a"] >= 4:
                    return {"b": name}
                return impl.Command(
                    graph=impl.Command.PARENT, update={"a": state["a"] + 1}, goto=other
                )

            return impl.sequence(Plain, ("n", node))

        nodes = {"alice": agent("alice", "bob"), "bob": agent("bob", "alice")}
        assert run(impl.build(Plain, nodes, [("__start__", "alice")]), {"a": 1}) == {
            "a": 4,
            "b": "bob",
        }
