"""A question that the code of a node catches: the node pauses for it all the same."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, tool
from antiphon.graph import START, Command, Runtime, StateGraph, get_runtime, interrupt
from support.oracle import Impl, Run
from support.states import Log, Update
from support.waiting import ENOUGH

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def single(node: Any, **options: Any) -> Any:
    """A graph of one node."""
    return StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(**options)


@tool(approval=True)
def pay(euros: int) -> str:
    """Pays a sum."""
    return f"paid {euros}"


class Asks(Agent):
    """Asks a person."""

    def act(self, state: Any, ctx: Any) -> str:
        return str(ctx.ask("may I?"))


INNER = single(lambda state: {"log": [interrupt("may I?")]})
TEAM = Orchestrator([Asks()])

ASKS: dict[str, Callable[[], Any]] = {
    "interrupt": lambda: interrupt("may I?"),
    "graph": lambda: INNER.invoke({})["log"][0],
    "team": lambda: TEAM.run("q").answer,
    "approval": lambda: get_runtime().call(pay, euros=5),
}


def excepted(ask: Callable[[], Any]) -> Any:
    """Ask where all errors are caught."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - what users write
        return type(error).__name__


def looked_at(ask: Callable[[], Any]) -> Any:
    """Ask on a thread whose exception is looked at."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(copy_context().run, ask)
        return "caught" if asked.exception(ENOUGH) else asked.result()


def with_fallback(ask: Callable[[], Any]) -> Any:
    """Ask in a part of LangChain's that has another for when it fails."""
    core = pytest.importorskip("langchain_core.runnables")
    other = core.RunnableLambda(lambda _: "fallback")
    return core.RunnableLambda(lambda _: ask()).with_fallbacks([other]).invoke({})


def in_a_step(ask: Callable[[], Any]) -> Any:
    """Ask within a step that is kept once it has returned."""
    return get_runtime().step("step", lambda: excepted(ask))


def in_a_step_that_fails(ask: Callable[[], Any]) -> Any:
    """Ask within a step that makes an error of it, which is caught."""

    def step() -> Any:
        try:
            return ask()
        except Exception as error:
            raise ValueError("the step failed") from error

    try:
        return get_runtime().step("step", step)
    except ValueError:
        return "failed"


WAYS = [excepted, looked_at, with_fallback, in_a_step, in_a_step_that_fails]


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("kept", [False, True], ids=["nowhere", "kept"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
@pytest.mark.parametrize("ask", ASKS)
def test_a_graph_pauses_though_the_node_caught_the_question(
    impl: Impl, ask: str, way: Any, kept: bool
) -> None:
    del impl
    graph = single(
        lambda state: {"log": [str(way(ASKS[ask]))]}, checkpointer="memory:" if kept else None
    )
    first = graph.invoke({}, CONFIG)
    (question,) = first["__interrupt__"]
    answer = True if isinstance(question.value, dict) else "yes"
    end = graph.resume(first, answer) if not kept else graph.invoke(Command(resume=answer), CONFIG)
    assert end["log"] == ["paid 5" if ask == "approval" else "yes"]


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("style", ["sync", "async"])
def test_questions_gathered_as_results_are_asked_one_by_one(impl: Impl, style: str) -> None:
    del impl

    async def asks(question: str) -> Any:
        return interrupt(question)

    async def node(state: Log) -> Log:
        asked = map(asks, ["a?", "b?"])
        return {"log": [str(came) for came in await asyncio.gather(*asked, return_exceptions=True)]}

    graph = single(node, checkpointer="memory:")

    def run(given: Any) -> Any:
        if style == "async":
            return asyncio.run(graph.ainvoke(given, CONFIG))
        return graph.invoke(given, CONFIG)

    first = run({})
    assert [question.value for question in first["__interrupt__"]] == ["a?"]
    second = run(Command(resume="a"))
    assert [question.value for question in second["__interrupt__"]] == ["b?"]
    assert run(Command(resume="b"))["log"] == ["a", "b"]


def drive(graph: Any, answers: Any = lambda value: f"to {value}") -> tuple[list[Any], Any]:
    """Every question that is asked, one after the other, and what comes of it."""
    asked, came = [], graph.invoke({}, CONFIG)
    while "__interrupt__" in came:
        (question,) = came["__interrupt__"]
        asked.append(question.value)
        came = graph.invoke(Command(resume=answers(question.value)), CONFIG)
    return asked, came["log"]


def passed(ask: Callable[[], Any]) -> Any:
    """Ask, and let the question pass."""
    return ask()


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("way", [passed, excepted], ids=lambda way: str(way.__name__))
@pytest.mark.parametrize("url", ["memory:", "sqlite:{}/runs.db"])
def test_each_question_gets_its_own_answer(impl: Impl, tmp_path: Path, url: str, way: Any) -> None:
    del impl

    def inner_step(runtime: Runtime[None]) -> Any:
        first = runtime.step("inner", lambda: way(lambda: interrupt("3")))
        return f"{first} {way(lambda: interrupt('4'))}"

    def node(state: Log, runtime: Runtime[None]) -> Log:
        one = way(lambda: interrupt("1"))
        two = runtime.step("two", lambda: way(lambda: interrupt("2")))
        more = runtime.step("more", lambda: inner_step(runtime))
        five = interrupt("5")
        six = runtime.step("six", lambda: [way(partial(interrupt, n)) for n in ("6", "7")])
        return {"log": [one, two, more, five, *six]}

    graph = single(node, checkpointer=url.format(tmp_path))
    asked, log = drive(graph)
    assert asked == ["1", "2", "3", "4", "5", "6", "7"]
    assert log == ["to 1", "to 2", "to 3 to 4", "to 5", "to 6", "to 7"]


@pytest.mark.only("antiphon")
def test_the_first_question_is_asked_first_even_if_another_leaves_the_node(impl: Impl) -> None:
    del impl

    async def asks(question: str) -> Any:
        return interrupt(question)

    async def node(state: Log) -> Log:
        came = await asyncio.gather(asks("drop it?"), return_exceptions=True)
        return {"log": [str(came[0]), interrupt("your name?")]}

    asked, log = drive(single(node, checkpointer="memory:"))
    assert asked == ["drop it?", "your name?"]
    assert log == ["to drop it?", "to your name?"]


@pytest.mark.only("antiphon")
def test_an_exception_copied_from_one_that_carries_a_question_is_that_question(
    impl: Impl,
) -> None:
    def node(state: Log) -> Log:
        try:
            return {"log": [interrupt("may I?")]}
        except impl.GraphInterrupt as pause:
            raise impl.GraphInterrupt(pause.args[0]) from None

    assert drive(single(node, checkpointer="memory:")) == (["may I?"], ["to may I?"])


@pytest.mark.only("antiphon")
@pytest.mark.parametrize("way", [passed, excepted], ids=lambda way: str(way.__name__))
def test_a_call_within_a_step_is_not_the_same_call_beside_it(impl: Impl, way: Any) -> None:
    del impl
    paid: list[int] = []

    @tool(approval=True)
    def spend(euros: int) -> str:
        """Pays a sum."""
        paid.append(euros)
        return f"paid {len(paid)}"

    def node(state: Log, runtime: Runtime[None]) -> Log:
        within = runtime.step("within", lambda: way(lambda: runtime.call(spend, euros=5)))
        between = interrupt("go on?")
        return {"log": [within, between, way(lambda: runtime.call(spend, euros=5))]}

    graph = single(node, checkpointer="memory:")
    asked, log = drive(graph, lambda value: True if isinstance(value, dict) else "yes")
    assert [value if isinstance(value, str) else value["tool"] for value in asked] == [
        "spend",
        "go on?",
        "spend",
    ]
    assert (log, paid) == (["paid 1", "yes", "paid 2"], [5, 5])


@pytest.mark.only("antiphon")
def test_a_graph_within_a_step_is_not_the_same_graph_beside_it(impl: Impl) -> None:
    del impl

    def node(state: Log, runtime: Runtime[None]) -> Log:
        within = runtime.step("within", lambda: INNER.invoke({})["log"][0])
        return {"log": [within, INNER.invoke({})["log"][0]]}

    answers = iter(["first", "second"])
    graph = single(node, checkpointer="memory:")
    assert drive(graph, lambda _: next(answers)) == (["may I?"] * 2, ["first", "second"])


class Question:
    """A question that leads to the node that asks it."""

    runtime: Any = None


@pytest.mark.only("antiphon")
def test_a_question_does_not_keep_itself_alive(impl: Impl) -> None:
    del impl
    alive: list[Any] = []

    def node(state: Log, runtime: Runtime[None]) -> Log:
        question = Question()
        question.runtime = runtime
        alive.append(weakref.ref(question))
        return {"log": [interrupt(question)]}

    graph = single(node)
    assert graph.resume(graph.invoke({}), "yes")["log"] == ["yes"]
    del graph
    # What a first collection frees may be all that holds the rest, from CPython 3.12 on.
    gc.collect()
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


class Gathers(Agent):
    """Takes any result of what it calls."""

    async def act(self, state: Any, ctx: Any) -> str:
        paid = await asyncio.gather(ctx.acall(pay, euros=5), return_exceptions=True)
        asked = await asyncio.gather(self.asks(ctx), TEAM.arun("q"), return_exceptions=True)
        return f"{paid[0]}, {asked[0]}, {getattr(asked[1], 'answer', None)}"

    async def asks(self, ctx: Any) -> Any:
        """Its own question."""
        return ctx.ask("my own?")


@pytest.mark.only("antiphon")
def test_a_team_pauses_though_the_agent_caught_the_question(impl: Impl) -> None:
    del impl
    team = Orchestrator([Gathers()], checkpointer="memory:")
    first = team.run("go", thread="t")
    assert first.outcome == "paused"
    assert team.resume("t", True).outcome == "paused"
    assert team.resume("t", "mine").outcome == "paused"
    assert team.resume("t", "theirs").answer == "paid 5, mine, theirs"


@pytest.mark.only("antiphon")
def test_an_effect_beside_a_caught_question_happens_once(impl: Impl) -> None:
    del impl
    made: list[str] = []

    def node(state: Log, runtime: Runtime[None]) -> Log:
        before = runtime.step("before", lambda: made.append("before"))
        answer = excepted(lambda: interrupt("may I?"))
        after = runtime.step("after", lambda: made.append("after"))
        return {"log": [answer, str(before), str(after)]}

    graph = single(node, checkpointer="memory:")
    assert graph.invoke({}, CONFIG)["__interrupt__"]
    assert graph.invoke(Command(resume="yes"), CONFIG)["log"] == ["yes", "None", "None"]
    assert made == ["before", "after"]


@pytest.mark.only("antiphon")
def test_a_run_kept_in_its_own_thread_keeps_its_questions(impl: Impl) -> None:
    del impl
    own = single(lambda state: {"log": [interrupt("own?")]}, checkpointer="memory:")

    def node(state: Log, runtime: Runtime[None]) -> Log:
        came = runtime.step("own", lambda: len(own.invoke({}, CONFIG)["__interrupt__"]))
        return {"log": [str(came)]}

    assert single(node).invoke({})["log"] == ["1"]


@pytest.mark.only("antiphon")
def test_another_error_is_the_nodes_own(impl: Impl) -> None:
    del impl

    def node(state: Log) -> Log:
        try:
            interrupt("may I?")
        except Exception as error:
            raise ValueError("no") from error
        return {}

    with pytest.raises(ValueError, match="no"):
        single(node).invoke({})


@pytest.mark.only("antiphon")
def test_what_carries_it_does_not_show_it(impl: Impl) -> None:
    seen: list[Exception] = []

    def node(state: Log) -> Log:
        try:
            return {"log": [interrupt("may I?")]}
        except Exception as error:
            seen.append(error)
            raise

    assert single(node).invoke({})["__interrupt__"]
    (pause,) = seen
    assert isinstance(pause, impl.GraphInterrupt)
    assert "may I?" not in f"{pause!r} {pause}"
    assert pause.interrupts[0].value == "may I?"


def test_langgraph_lets_code_swallow_it(impl: Impl, run: Run) -> None:
    def ask(state: Log) -> Update:
        try:
            impl.interrupt("?")
        except Exception as error:  # noqa: BLE001 - what users write
            return {"log": [type(error).__name__]}
        return {"log": ["answered"]}

    assert issubclass(impl.GraphInterrupt, Exception)
    came = run(impl.sequence(Log, ask), {})
    assert ("__interrupt__" in came) == (impl.name == "antiphon")
