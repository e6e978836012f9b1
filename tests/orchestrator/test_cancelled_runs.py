"""What is left of a run that was cancelled in the middle, and how its thread goes on."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Event, Orchestrator
from antiphon.checkpoint import MemorySaver, Saver, SqliteSaver
from antiphon.models import Model, scripted
from antiphon.state import extend
from antiphon.systems import ReviewLoop
from support.waiting import ENOUGH, forever

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """Where the threads of a test are kept."""
    kept = MemorySaver() if request.param == "memory" else SqliteSaver.open(tmp_path / "runs.db")
    with kept:
        yield kept


class DoneState(TypedDict, total=False):
    done: Annotated[list[str], extend]


class RecordingAgent(Agent):
    """Notes that it was there."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"done": [ctx.agent]}


class BlockingAgent(Agent):
    """Waits without end, until it is let go."""

    def __init__(self) -> None:
        super().__init__(name="stops")
        self.reached = threading.Event()
        self.free = False

    async def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        if not self.free:
            self.reached.set()
            await forever()
        return {"done": [ctx.agent], "answer": "ok"}


def cancel_in(team: Orchestrator[Any, Any], stops: BlockingAgent, question: str) -> None:
    """Cancels a run on the thread ``t`` while an agent is at work."""

    async def cancel() -> None:
        task = asyncio.create_task(team.arun(question, thread="t"))
        assert await asyncio.to_thread(stops.reached.wait, ENOUGH)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def done(held: Any) -> list[str]:
    """The agents that have written to a state."""
    return list(dict(held.state)["done"])


def test_the_thread_has_the_state_of_the_last_superstep_that_ended(saver: Saver) -> None:
    stops = BlockingAgent()
    team = Orchestrator(
        [RecordingAgent(name="one"), RecordingAgent(name="two"), stops],
        state=DoneState,
        checkpointer=saver,
    )
    cancel_in(team, stops, "q")
    held = team.state("t")
    assert (held.outcome, held.next, done(held)) == ("cancelled", ("stops",), ["one", "two"])
    assert dict(held.state)["question"] == "q"
    assert dict(held.state).get("answer") is None
    stops.free = True
    result = team.resume("t")
    assert (result.answer, done(result)) == ("ok", ["one", "two", "stops"])


def test_a_new_question_goes_on_from_what_a_cancelled_run_has_left(saver: Saver) -> None:
    stops = BlockingAgent()
    team = Orchestrator([RecordingAgent(name="one"), stops], state=DoneState, checkpointer=saver)
    cancel_in(team, stops, "first")
    stops.free = True
    result = team.run("second", thread="t")
    assert (result.outcome, done(result)) == ("answered", ["one", "one", "stops"])
    asked = [one["content"] for one in result.messages if one["role"] == "user"]
    assert asked == ["first", "second"]


def test_a_branch_that_had_ended_is_not_repeated_after_a_cancellation(saver: Saver) -> None:
    stops, ended = BlockingAgent(), threading.Event()
    calls: list[str] = []

    class SiblingAgent(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            calls.append(ctx.agent)
            return {"done": [ctx.agent]}

    def watch(event: Event) -> None:
        if (event.kind, event.name) == ("node_finished", "beside"):
            ended.set()

    team: Orchestrator[Any, Any] = Orchestrator(
        [RecordingAgent(name="one"), [SiblingAgent(name="beside"), stops]],
        state=DoneState,
        checkpointer=saver,
    )

    async def cancel() -> None:
        task = asyncio.create_task(team.arun("q", thread="t", watch=watch))
        assert await asyncio.to_thread(ended.wait, ENOUGH)
        assert await asyncio.to_thread(stops.reached.wait, ENOUGH)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    held = team.state("t")
    assert (done(held), held.next) == (["one", "beside"], ("stops",))
    stops.free = True
    assert sorted(done(team.resume("t"))) == ["beside", "one", "stops"]
    assert calls == ["beside"]


def test_a_stream_that_is_closed_gives_the_state_and_the_usage_so_far() -> None:
    stops = BlockingAgent()
    first = Agent(scripted(["a reply"]), name="first", writes="draft")
    team = Orchestrator([first, stops], checkpointer="memory:")
    with team.stream("q", thread="t") as stream:
        for event in stream:
            if (event.kind, event.name) == ("node_started", "stops"):
                break
    result = stream.result
    assert (result.outcome, result.answer) == ("cancelled", None)
    assert dict(result.state)["draft"] == "a reply"
    assert result.usage.model_calls == 1
    assert dict(team.state("t").state)["draft"] == "a reply"


def test_a_cancelled_question_to_a_ready_system_keeps_what_was_found(saver: Saver) -> None:
    reached, free = threading.Event(), False

    async def expert(brief: dict[str, Any]) -> dict[str, str]:
        if not free:
            reached.set()
            await forever()
        return {"reasoning_trace": "the atlas says so", "expert_answer": "Lima"}

    approve = {"json": {"decision": "approve"}}
    said: dict[str, list[Any]] = {
        "planner": [{"json": {"research_steps": ["look"], "expert_steps": ["say"]}}],
        "critic": [approve] * 3,
        "researcher": [{"json": {"result": "Lima, says the atlas"}}],
        "finalizer": [{"json": {"final_reasoning_trace": "found", "final_answer": "Lima"}}],
    }
    model = Model.scripted([], branches=[("role", role, said[role]) for role in said])
    loop = ReviewLoop(model, expert=expert, checkpointer=saver)

    async def cancel() -> None:
        task = asyncio.create_task(loop.arun("capital of Peru?", thread="t"))
        assert await asyncio.to_thread(reached.wait, ENOUGH)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    held = loop.state("t")
    assert held.outcome == "cancelled"
    assert held.state["research_results"] == ["Lima, says the atlas"]
    free = True
    assert loop.resume("t").answer == "Lima", "the script has no second plan"
