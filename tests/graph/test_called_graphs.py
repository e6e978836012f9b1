"""A graph or team that a node calls resumes where it was: what it has done is not done again."""

from typing import Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator
from antiphon.graph import START, Command, Runtime, StateGraph, interrupt
from support.oracle import Impl

KEPT = pytest.mark.parametrize("saver", [None, "memory:"])
CONFIG: Any = {"configurable": {"thread_id": "t"}}
RESUME: Any = Command(resume="yes")

pytestmark = pytest.mark.only("antiphon")


class State(TypedDict, total=False):
    """What was answered."""

    answer: str


class Journal(list[str]):
    """What has happened, in order."""

    def first(self, state: State) -> State:
        """Do something that is finished when the next node asks."""
        self.append("first")
        return {}

    def pay(self, state: State, runtime: Runtime[Any]) -> State:
        """Pay, and ask whether that was right."""
        runtime.step("pay", self.append, "paid")
        return {"answer": interrupt("was that right?")}

    def graph(self) -> Any:
        """Both, one after the other."""
        builder = StateGraph(State).add_node("first", self.first).add_node("pay", self.pay)
        return builder.add_edge(START, "first").add_edge("first", "pay").compile()


def calling(node: Any, saver: str | None) -> Any:
    """A graph of one node."""
    builder = StateGraph(State).add_node("outer", node).add_edge(START, "outer")
    return builder.compile(checkpointer=saver)


def answered(graph: Any, paused: Any, saver: str | None) -> Any:
    """The graph once it has been answered."""
    return graph.resume(paused, "yes") if saver is None else graph.invoke(RESUME, CONFIG)


@KEPT
def test_an_answer_to_a_called_graph_repeats_no_effect(impl: Impl, saver: str | None) -> None:
    journal = Journal()
    inner = journal.graph()
    graph = calling(lambda state: inner.invoke({}), saver)
    paused = graph.invoke({}, CONFIG)
    assert [asked.value for asked in paused["__interrupt__"]] == ["was that right?"]
    done = answered(graph, paused, saver)
    assert (done["answer"], journal) == ("yes", ["first", "paid"])


@KEPT
def test_an_answer_to_a_team(impl: Impl, saver: str | None) -> None:
    journal = Journal()

    class First(Agent):
        def act(self, state: Any, ctx: Any) -> str:
            journal.append("first")
            return "done"

    class Payer(Agent):
        def act(self, state: Any, ctx: Any) -> str:
            ctx.step("pay", journal.append, "paid")
            return str(ctx.ask("was that right?"))

    team = Orchestrator([First(), Payer()])
    graph = calling(lambda state: {"answer": team.run("go").answer}, saver)
    paused = graph.invoke({}, CONFIG)
    done = answered(graph, paused, saver)
    assert (done["answer"], journal) == ("yes", ["first", "paid"])
