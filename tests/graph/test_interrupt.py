"""An interrupt is reported (rules 50, 63, 65, 66, 69). No checkpointer, so nothing resumes here."""

import string
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from antiphon.graph import StateGraph
from support.oracle import Events, Impl, Run
from support.states import Log, Update, say


def asking(impl: Any, *questions: Any) -> Any:
    """`first` -> `ask` (with a sibling `other`) -> `last`."""

    def ask(state: Log) -> Update:
        return {"log": [impl.interrupt(question) for question in questions]}

    nodes = {"first": say("first"), "ask": ask, "other": say("other"), "last": say("last")}
    edges = [("__start__", "first"), ("first", "ask"), ("first", "other"), ("ask", "last")]
    return impl.build(Log, nodes, edges)


def test_invoke_reports_it_beside_the_state(impl: Impl, run: Run) -> None:
    result = run(asking(impl, "sure?"), {})
    [interrupt] = result.pop("__interrupt__")
    assert interrupt.value == "sure?"
    assert result == {"log": ["first", "other"]}


def test_the_id_of_an_interrupt_is_32_hexadecimal_digits(impl: Impl, run: Run) -> None:
    [interrupt] = run(asking(impl, "sure?"), {})["__interrupt__"]
    assert len(interrupt.id) == 32
    assert set(interrupt.id) <= set(string.hexdigits.lower())


def test_the_value_of_an_interrupt_is_any_object(impl: Impl, run: Run) -> None:
    question = {"what": object()}
    [interrupt] = run(asking(impl, question), {})["__interrupt__"]
    assert interrupt.value is question


def test_only_the_first_of_two_questions_of_a_node_is_asked(impl: Impl, run: Run) -> None:
    [interrupt] = run(asking(impl, "one", "two"), {})["__interrupt__"]
    assert interrupt.value == "one"


def test_the_update_stream_yields_it_as_a_tuple(impl: Impl, events: Events) -> None:
    got = events(asking(impl, "sure?"), {})
    assert got[0] == {"first": {"log": ["first"]}}
    assert {"other": {"log": ["other"]}} in got
    [(interrupt,)] = [event["__interrupt__"] for event in got if "__interrupt__" in event]
    assert interrupt.value == "sure?"
    assert len(got) == 3


def test_the_values_stream_yields_it_beside_the_state_at_the_start_of_the_step(
    impl: Impl, events: Events
) -> None:
    got = events(asking(impl, "sure?"), {"log": ["in"]}, stream_mode="values")
    assert got[:2] == [{"log": ["in"]}, {"log": ["in", "first"]}]
    (interrupt,) = got[2].pop("__interrupt__")
    assert interrupt.value == "sure?"
    assert got[2:] == [{"log": ["in", "first"]}, {"log": ["in", "first", "other"]}]


def test_tasks_beside_an_interrupt_finish(impl: Impl, run: Run) -> None:
    finished = []
    nodes = {"ask": lambda s: impl.interrupt("?"), "other": lambda s: finished.append(1)}
    edges = [("__start__", "ask"), ("__start__", "other")]
    assert "__interrupt__" in run(impl.build(Log, nodes, edges), {})
    assert finished == [1]


def test_the_questions_of_a_step_are_reported_together(impl: Impl, run: Run) -> None:
    nodes = {name: lambda s, name=name: impl.interrupt(name) for name in "ab"}
    graph = impl.build(Log, nodes, [("__start__", "a"), ("__start__", "b")])
    interrupts = run(graph, {})["__interrupt__"]
    assert sorted(interrupt.value for interrupt in interrupts) == ["a", "b"]
    assert len({interrupt.id for interrupt in interrupts}) == 2


def test_each_packet_asks_its_own_question(impl: Impl, run: Run) -> None:
    builder = impl.StateGraph(Log).add_node("ask", impl.interrupt)
    builder.add_conditional_edges(impl.START, lambda s: [impl.Send("ask", i) for i in range(3)])
    interrupts = run(builder.compile(), {})["__interrupt__"]
    assert sorted(interrupt.value for interrupt in interrupts) == [0, 1, 2]


def test_an_interrupt_needs_a_running_node(impl: Impl) -> None:
    with pytest.raises(RuntimeError):
        impl.interrupt("?")


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_router_that_asks_gets_the_hint_to_let_a_node_ask(
    impl: Impl, run: Run, asynchronous: bool
) -> None:
    def route(state: Log) -> str:
        return str(impl.interrupt("where to?"))

    async def aroute(state: Log) -> str:
        return route(state)

    builder = StateGraph(Log).add_node("say", say("said")).add_edge("__start__", "say")
    builder.add_conditional_edges("say", aroute if asynchronous else route, ["__end__"])
    with pytest.raises(RuntimeError, match="A router cannot ask: put the question in a node"):
        run(builder.compile(), {})


@pytest.mark.only("antiphon")
def test_a_thread_without_the_nodes_variables_gets_a_hint_how_to_get_them(
    impl: Impl, run: Run
) -> None:
    def ask(state: Log) -> Update:
        with ThreadPoolExecutor(1) as pool:
            return {"log": [pool.submit(impl.interrupt, "sure?").result()]}

    graph = impl.build(Log, {"ask": ask}, [("__start__", "ask")])
    with pytest.raises(RuntimeError, match=r"contextvars\.copy_context\(\)\.run"):
        run(graph, {})


def test_a_failure_beside_an_interrupt_wins(impl: Impl, run: Run) -> None:
    def fail(state: Log) -> None:
        raise ValueError("mine")

    nodes = {"ask": lambda s: impl.interrupt("?"), "fail": fail}
    graph = impl.build(Log, nodes, [("__start__", "ask"), ("__start__", "fail")])
    with pytest.raises(ValueError, match="mine"):
        run(graph, {})


def test_a_question_of_a_subgraph_is_reported_by_the_root(impl: Impl, run: Run) -> None:
    inner = impl.sequence(Log, ("ask", lambda s: impl.interrupt("inner?")))
    outer = impl.build(
        Log, {"inner": inner, "last": say("last")}, [("__start__", "inner"), ("inner", "last")]
    )
    result = run(outer, {"log": ["in"]})
    assert [interrupt.value for interrupt in result.pop("__interrupt__")] == ["inner?"]
    assert result == {"log": ["in"]}


def test_a_question_inside_an_async_node(impl: Impl) -> None:
    import asyncio

    async def ask(state: Log) -> Update:
        await asyncio.sleep(0)
        return {"log": [impl.interrupt("?")]}

    [interrupt] = asyncio.run(impl.sequence(Log, ask).ainvoke({}))["__interrupt__"]
    assert interrupt.value == "?"
