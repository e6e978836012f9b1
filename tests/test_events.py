"""What a watcher sees: each kind of event is there when its cause is."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Budget, Event, Orchestrator, RetryPolicy, tool
from antiphon.checkpoint import MemorySaver
from antiphon.models import scripted
from house.source import ROOT

if TYPE_CHECKING:
    from antiphon.models import Model

UNSEEN = {"dropped"}
"""For a watcher that cannot keep up; the runtime's own tests produce it."""


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class NodeFailure(Exception):
    """What a node raises."""


class AskingAgent(Agent):
    """Fails once, reports its progress, and asks a person."""

    attempts = 0

    def act(self, state: Any, ctx: AgentContext) -> str:
        del state
        self.attempts += 1
        if self.attempts == 1:
            raise ConnectionError("not yet")
        ctx.emit({"share": 0.5}, "progress")
        return str(ctx.ask("which one?"))


class FailingAgent(Agent):
    """Fails for good."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        raise NodeFailure


def calling_model() -> Model:
    """A model that calls a tool and words its answer so that it must be repaired."""
    call = {"tool_calls": [{"name": "double", "arguments": {"number": 2}}]}
    return scripted([call, 'Here:\n```json\n{"value": 4,}\n```'])


def stream_of(team: Orchestrator, **options: Any) -> list[Event]:
    seen: list[Event] = []
    with team.stream("q", **options) as stream, suppress(NodeFailure):
        seen.extend(stream)
    return seen


def calls_and_repairs() -> list[Event]:
    agent = Agent(name="a", model=calling_model(), tools=[double], output=int)
    return stream_of(Orchestrator([agent]))


def questions_and_retries() -> list[Event]:
    agent = AskingAgent(name="a", retry=RetryPolicy(initial_interval=0.001))
    return stream_of(Orchestrator([agent], checkpointer=MemorySaver()), thread="t")


def spent_budgets() -> list[Event]:
    agent = Agent(name="a", model=calling_model(), tools=[double])
    return stream_of(Orchestrator([agent], budget=Budget(model_calls=1)))


def failures() -> list[Event]:
    return stream_of(Orchestrator([FailingAgent(name="a")]))


CAUSES = (calls_and_repairs, questions_and_retries, spent_budgets, failures)


def declared() -> set[str]:
    """The kinds of events that the core declares."""
    source = (ROOT / "src/core/src/event.rs").read_text(encoding="utf-8")
    found = re.search(r"^pub enum EventKind \{(.*?)^\}", source, re.MULTILINE | re.DOTALL)
    variants = re.findall(r"^    ([A-Z]\w*),", (found or pytest.fail("renamed?"))[1], re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in variants}


def test_each_kind_of_event_is_seen_when_its_cause_is_there() -> None:
    seen = {event.kind for cause in CAUSES for event in cause()}
    assert seen | UNSEEN == declared()
    assert not seen & UNSEEN


def test_each_kind_of_event_is_described() -> None:
    described = set(re.findall(r"`([a-z_]+)`", Event.__doc__ or ""))
    assert declared() <= described


def test_an_event_prints_as_one_readable_line() -> None:
    lines = [str(event) for event in calls_and_repairs()]
    assert "  4 a node_started" in lines
    assert "  5 a model_call turn 1, 1 message, tools: double" in lines
    assert '  6 a model_reply test:scripted: calls double({"number":2})' in lines
    assert '  7 a tool_call double({"number": 2})' in lines
    assert "  8 a tool_result double: 4" in lines
    assert lines[-1].endswith("run run_finished completed")
    for cause in CAUSES:
        for event in cause():
            assert event.kind in str(event)
            assert str(event).isprintable()
            assert repr(event).startswith("Event(seq=")


def test_a_line_is_bounded_and_safe_for_a_terminal() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    noise = {"text": "\x1b[2J" + "wide " * 10_000}
    event = Event("r", 1, at, ["a"], "model_reply", "m\nn", noise)
    assert len(str(event)) < 200
    assert str(event).isprintable()


def test_a_line_shows_data_of_another_shape() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    event = Event("r", 1, at, [], "model_reply", "m", {"tool_calls": [{"other": 1}]})
    assert str(event) == '  1 run model_reply tool_calls=[{"other": 1}]'


def test_events_name_the_keys_of_an_open_state_and_nothing_internal() -> None:
    class WritingAgent(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"population": 522_250, "source": "INSEE"}

    events = stream_of(Orchestrator([WritingAgent(name="a")]))
    wrote = [event.data["wrote"] for event in events if event.kind == "node_finished"]
    assert wrote == [["population", "source"]]
    changed = [event.data["changed"] for event in events if event.kind == "state_updated"]
    assert changed[-1] == {"population": 1, "source": 5}
    assert "__" not in "".join(str(event.data) for event in events if event.kind != "edge_taken")
