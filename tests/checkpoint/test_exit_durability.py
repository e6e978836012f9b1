"""Runs that are kept only when they rest: nothing of where they rest is left out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.checkpoint import MemorySaver, SqliteSaver
from antiphon.graph import (
    START,
    Command,
    InvalidUpdateError,
    RunnableConfig,
    StateGraph,
    interrupt,
)

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


class Fan:
    """A node, and after it several beside one another, some of which ask."""

    def __init__(self, *kinds: str) -> None:
        self.ran: list[str] = []
        graph = StateGraph(State)
        graph.add_node("first", self._plain("first")).add_edge(START, "first")
        for place, kind in enumerate(kinds):
            name = f"{place}{kind}"
            graph.add_node(name, self._plain(name) if kind == "plain" else self._asking(name))
            graph.add_edge("first", name)
        self.graph = graph.compile(MemorySaver())

    def _plain(self, name: str) -> Callable[[State], State]:
        def work(_: State) -> State:
            self.ran.append(name)
            return {"out": [name]}

        return work

    def _asking(self, name: str) -> Callable[[State], State]:
        def work(_: State) -> State:
            self.ran.append(name)
            return {"out": [interrupt(name)]}

        return work

    def invoke(self, given: Any) -> Any:
        return self.graph.invoke(given, CONFIG, durability="exit")

    def asked(self) -> dict[str, str]:
        """What is asked, by id."""
        return {one.id: one.value for one in self.graph.get_state(CONFIG).interrupts}


@pytest.mark.parametrize(
    "kinds", [("asks", "asks"), ("asks", "plain"), ("plain", "asks"), ("asks", "plain", "asks")]
)
def test_a_pause_holds_all_that_is_asked_and_all_that_is_done(kinds: tuple[str, ...]) -> None:
    fan = Fan(*kinds)
    fan.invoke({})
    names = [f"{place}{kind}" for place, kind in enumerate(kinds)]
    assert sorted(fan.asked().values()) == sorted(name for name in names if "asks" in name)
    fan.ran.clear()
    done = fan.invoke(Command(resume={key: name.upper() for key, name in fan.asked().items()}))
    assert sorted(fan.ran) == sorted(name for name in names if "asks" in name)
    said = [name.upper() if "asks" in name else name for name in names]
    assert done == {"out": ["first", *said]}


def test_given_answers_and_their_results_survive_the_next_pause() -> None:
    fan = Fan("asks", "asks")
    fan.invoke({})
    first, second = sorted(fan.asked())
    fan.invoke(Command(resume={first: "one"}))
    assert list(fan.asked()) == [second]
    fan.ran.clear()
    done = fan.invoke(Command(resume={second: "two"}))
    assert len(fan.ran) == 1
    assert sorted(done["out"]) == ["first", "one", "two"]


def test_a_history_has_the_checkpoint_of_each_rest() -> None:
    fan = Fan("asks")
    fan.graph.invoke({}, CONFIG, durability="sync")
    fan.graph.update_state(CONFIG, {"out": ["more"]}, as_node="first")
    fan.invoke(None)
    fan.invoke(Command(resume="said"))
    fan.invoke({})
    past = list(fan.graph.get_state_history(CONFIG))
    now = fan.graph.get_state(CONFIG)
    assert now.interrupts
    assert now.next == ("0asks",)
    assert now.config == past[0].config
    assert now.values == past[0].values
    assert now.values["out"] == ["first", "more", "said", "first"]
    steps = [(one.metadata or {})["step"] for one in past]
    assert steps == sorted(set(steps), reverse=True), "each is another step"


def test_who_wrote_last_is_not_guessed() -> None:
    graph = StateGraph(State)
    for before, name in (START, "a"), ("a", "b"), ("b", "c"):
        graph.add_node(name, Fan()._plain(name)).add_edge(before, name)
    kept = graph.compile(MemorySaver())
    kept.invoke({}, CONFIG, durability="exit")
    with pytest.raises(InvalidUpdateError, match="as_node"):
        kept.update_state(CONFIG, {"out": ["x"]})


class Count(Agent):
    """Counts its turns, and asks whether to continue."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        ctx.ask("go on?")
        return {"turns": state.get("turns", 0) + 1}


class Echo(Agent):
    """Says what was asked."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return f"{state['question']}!"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_supersteps_count_once_however_often_a_run_rests(durability: Any) -> None:
    flow: dict[str, Any] = {"count": "count"}
    saver = MemorySaver()
    team = Orchestrator(
        [Count()], flow=flow, max_steps=5, checkpointer=saver, durability=durability
    )
    result = team.run("?", thread="t")
    for _ in range(20):
        if result.outcome != "paused":
            break
        result = team.resume("t", "yes")
    assert (result.outcome, result.state["turns"]) == ("step_limit", 5)


def test_a_stream_that_is_left_keeps_what_was_done(tmp_path: Path) -> None:
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        team = Orchestrator([Echo(), Count()], checkpointer=saver, durability="exit")
        stream = team.stream("q", thread="t")
        for event in stream:
            if event.kind == "node_finished":
                break
        stream.close()
        assert team.state("t").outcome == "cancelled"
        assert team.state("t").answer == "q!"
