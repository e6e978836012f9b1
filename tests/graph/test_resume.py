"""Runs that pause and are resumed in the same process."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

from antiphon.graph import (
    START,
    CompiledGraph,
    GraphBuildError,
    Paused,
    Send,
    StateGraph,
    interrupt,
)
from support.states import Log


def graph_of(*nodes: Any) -> CompiledGraph:
    builder = StateGraph(Log).add_sequence(nodes)
    return builder.set_entry_point(nodes[0].__name__).compile()


def ask(state: Log) -> Log:
    return {"log": [interrupt("sure?")]}


def after(state: Log) -> Log:
    return {"log": ["after"]}


def test_an_answer_resumes_the_run() -> None:
    graph = graph_of(ask, after)
    paused = graph.invoke({"log": ["in"]})
    assert isinstance(paused, Paused)
    assert (paused["log"], paused.interrupts[0].value) == (["in"], "sure?")
    assert graph.resume(paused, "yes") == {"log": ["in", "yes", "after"]}


def test_the_result_of_a_finished_run_is_a_plain_dict() -> None:
    graph = graph_of(ask)
    assert type(graph.resume(graph.invoke({}), 1)) is dict


def test_a_graph_without_a_store_resumes_on_an_event_loop() -> None:
    async def main() -> Any:
        graph = graph_of(ask, after)
        return await graph.aresume(await graph.ainvoke({}), "yes")

    assert asyncio.run(main()) == {"log": ["yes", "after"]}


@pytest.mark.parametrize("answer", [None, {"any": "dict"}, ["list"], {}])
def test_any_value_is_an_answer(answer: Any) -> None:
    graph = graph_of(ask)
    assert graph.resume(graph.invoke({}), answer) == {"log": [answer]}


def test_a_node_runs_again_from_its_first_line_and_gets_its_answers_in_order() -> None:
    started = []

    def twice(state: Log) -> Log:
        started.append(1)
        return {"log": [interrupt("one?"), interrupt("two?")]}

    graph = graph_of(twice)
    first = graph.invoke({})
    second = graph.resume(first, 1)
    assert [question.value for question in second.interrupts] == ["two?"]
    assert graph.resume(second, 2) == {"log": [1, 2]}
    assert len(started) == 3


def fan_out() -> CompiledGraph:
    builder = StateGraph(Log).add_node("ask", lambda n: {"log": [(n, interrupt(n))]})
    builder.add_conditional_edges(START, lambda _: [Send("ask", n) for n in range(2)])
    return builder.compile()


def test_several_questions_are_answered_by_id() -> None:
    graph = fan_out()
    paused = graph.invoke({})
    answers = {question.id: question.value * 10 for question in paused.interrupts}
    assert graph.resume(paused, answers) == {"log": [(0, 0), (1, 10)]}


def test_questions_left_open_are_asked_again() -> None:
    graph = fan_out()
    paused = graph.invoke({})
    first, second = paused.interrupts
    still = graph.resume(paused, {first.id: "a"})
    assert [question.id for question in still.interrupts] == [second.id]
    assert graph.resume(still, "b") == {"log": [(0, "a"), (1, "b")]}


def test_an_answer_that_fits_several_questions_is_an_error_that_leaves_the_pause_usable() -> None:
    graph = fan_out()
    paused = graph.invoke({})
    with pytest.raises(GraphBuildError, match="2"):
        graph.resume(paused, "whose?")
    answers = dict.fromkeys([question.id for question in paused.interrupts], "x")
    assert graph.resume(paused, answers) == {"log": [(0, "x"), (1, "x")]}


def test_a_pause_cannot_be_resumed_from_twice() -> None:
    graph = graph_of(ask)
    paused = graph.invoke({})
    graph.resume(paused, 1)
    with pytest.raises(GraphBuildError):
        graph.resume(paused, 2)


def test_a_question_of_a_nested_graph_is_answered_through_the_root() -> None:
    outer = StateGraph(Log).add_node("inner", graph_of(ask)).add_edge(START, "inner").compile()
    assert outer.resume(outer.invoke({}), "yes") == {"log": ["yes"]}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_question_of_a_graph_that_a_node_invokes_is_the_nodes_own(asynchronous: bool) -> None:
    inner = graph_of(ask, after)

    def call(state: Log) -> Log:
        return {"log": [inner.invoke({})["log"]]}

    async def acall(state: Log) -> Log:
        return {"log": [(await inner.ainvoke({}))["log"]]}

    graph = graph_of(acall if asynchronous else call)
    paused = graph.invoke({})
    assert [question.value for question in paused.interrupts] == ["sure?"]
    assert graph.resume(paused, "yes") == {"log": [["yes", "after"]]}


def test_pickled_it_is_a_plain_dict() -> None:
    paused = graph_of(ask).invoke({"log": ["in"]})
    copy = pickle.loads(pickle.dumps(paused))
    assert type(copy) is dict
    assert copy == paused
