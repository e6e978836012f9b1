"""The superstep: a frozen start, a deterministic end (rules 18-20)."""

import asyncio
import threading
from typing import Any

from support.oracle import Impl, Run
from support.states import Log, Plain, Update, say


def test_writes_apply_by_node_name_then_by_send_index(impl: Impl, run: Run) -> None:
    def route(state: Log) -> list[Any]:
        return [impl.Send("a", 2), impl.Send("a", 1), "z", impl.Send("z", 0)]

    builder = impl.StateGraph(Log)
    builder.add_node("a", lambda n: {"log": [f"a{n}"]})
    builder.add_node("z", lambda s: {"log": ["z"]})
    builder.add_conditional_edges(impl.START, route)
    assert run(builder.compile(), {}) == {"log": ["z", "a2", "a1", "z"]}


def test_writes_apply_in_node_name_order_in_any_build_order(impl: Impl, run: Run) -> None:
    names = ["m", "b", "z", "a"]
    graph = impl.build(Log, {n: say(n) for n in names}, [(impl.START, n) for n in names])
    assert run(graph, {}) == {"log": ["a", "b", "m", "z"]}


def test_names_sort_as_text(impl: Impl, run: Run) -> None:
    names = ["n10", "n9", "n1", "N", "ñ"]
    graph = impl.build(Log, {n: say(n) for n in names}, [(impl.START, n) for n in names])
    assert run(graph, {}) == {"log": ["N", "n1", "n10", "n9", "ñ"]}


def test_completion_order_does_not_show_in_the_state_async(impl: Impl) -> None:
    async def main() -> Any:
        released = asyncio.Event()

        async def a(state: Log) -> Update:
            await asyncio.wait_for(released.wait(), 10)
            return {"log": ["a"]}

        async def b(state: Log) -> Update:
            released.set()
            return {"log": ["b"]}

        graph = impl.build(Log, {"a": a, "b": b}, [(impl.START, "a"), (impl.START, "b")])
        return await graph.ainvoke({})

    assert asyncio.run(main()) == {"log": ["a", "b"]}


def test_completion_order_does_not_show_in_the_state_sync(impl: Impl) -> None:
    released = threading.Event()

    def a(state: Log) -> Update:
        assert released.wait(10)
        return {"log": ["a"]}

    def b(state: Log) -> Update:
        released.set()
        return {"log": ["b"]}

    graph = impl.build(Log, {"a": a, "b": b}, [(impl.START, "a"), (impl.START, "b")])
    assert graph.invoke({}) == {"log": ["a", "b"]}


def test_tasks_of_a_step_see_the_state_at_its_start(impl: Impl, run: Run) -> None:
    seen = {}

    def look(name: str) -> Any:
        def node(state: Log) -> Update:
            seen[name] = list(state["log"])
            return {"log": [name]}

        return node

    nodes = {"a": look("a"), "b": look("b"), "c": look("c")}
    edges = [("__start__", "a"), ("__start__", "b"), ("a", "c"), ("b", "c")]
    assert run(impl.build(Log, nodes, edges), {}) == {"log": ["a", "b", "c"]}
    assert seen == {"a": [], "b": [], "c": ["a", "b"]}


def test_a_change_of_the_state_dict_itself_is_not_seen_by_others(impl: Impl, run: Run) -> None:
    def scribble(state: Plain) -> None:
        state["a"] = "scribbled"

    seen = []
    graph = impl.sequence(Plain, scribble, ("look", lambda s: seen.append(s["a"])))
    assert run(graph, {"a": 1}) == {"a": 1}
    assert seen == [1]


def test_a_change_inside_a_value_is_shared(impl: Impl, run: Run) -> None:
    def scribble(state: Plain) -> None:
        state["a"].append(2)

    graph = impl.sequence(Plain, scribble, ("copy", lambda s: {"b": list(s["a"])}))
    assert run(graph, {"a": [1]}) == {"a": [1, 2], "b": [1, 2]}


def test_values_are_passed_by_reference(impl: Impl, run: Run) -> None:
    thing = object()
    seen = []

    def node(state: Plain) -> Update:
        seen.append(state["a"])
        return {"b": thing}

    graph = impl.sequence(Plain, node)
    result = run(graph, {"a": thing})
    assert seen == [thing]
    assert result["a"] is result["b"] is thing


def test_a_node_without_writes_still_triggers_its_successors(impl: Impl, run: Run) -> None:
    graph = impl.sequence(Log, ("silent", lambda s: None), say("next"))
    assert run(graph, {}) == {"log": ["next"]}
