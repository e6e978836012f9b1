"""Models that hand the conversation over to other agents."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import ValidationError
from antiphon.models import scripted


def hands(*names: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": {}} for name in names]}


def expert(*replies: Any, name: str = "expert", **options: Any) -> Agent:
    return Agent(scripted(list(replies)), name=name, description="Knows invoices.", **options)


def ran(result: Any) -> list[str]:
    return [event.agent for event in result.events if event.kind == "node_started"]


def test_a_model_hands_over_with_the_conversation() -> None:
    model, other = scripted([hands("transfer_to_expert")]), expert("Twice.")
    triage = Agent(model, name="triage", handoffs=[other])
    result = triage.run("Why so much?")
    assert (result.answer, ran(result)) == ("Twice.", ["triage", "expert"])
    (tool,) = model.requests[0]["tools"]
    assert tool["name"] == "transfer_to_expert"
    assert "Knows invoices." in tool["description"]
    asked = other.model.requests[0]["messages"]
    assert asked == [{"role": "user", "content": "Why so much?"}]


def test_a_model_that_answers_itself_hands_nothing_over() -> None:
    result = Agent(scripted(["Because."]), name="triage", handoffs=[expert()]).run("Why?")
    assert (result.answer, ran(result)) == ("Because.", ["triage"])


def test_a_handoff_replaces_the_successor() -> None:
    triage = Agent(scripted([hands("transfer_to_expert")]), name="triage", handoffs=["expert"])
    team = Orchestrator([triage, expert("no", name="other"), expert("yes")])
    assert ran(team.run("q")) == ["triage", "expert"]


def test_agents_hand_over_to_each_other_within_the_steps_of_the_run() -> None:
    one = Agent(scripted([hands("transfer_to_two")] * 9), name="one", handoffs=["two"])
    two = Agent(scripted([hands("transfer_to_one")] * 9), name="two", handoffs=["one"])
    result = Orchestrator([one, two], flow={}, max_steps=5).run("q")
    assert (result.outcome, ran(result)) == ("step_limit", ["one", "two"] * 2 + ["one"])


def test_a_handoff_is_drawn() -> None:
    triage = Agent(scripted([]), name="triage", handoffs=[expert()])
    assert "triage -.-> expert" in triage.graph.draw_mermaid(with_styles=False)


@pytest.mark.parametrize(
    ("handoffs", "code"),
    [(["ghost"], "agent_unknown"), (["triage"], "agent_invalid"), (["b", "b"], "agent_invalid")],
)
def test_a_wrong_handoff_is_an_error_when_the_team_is_built(handoffs: Any, code: str) -> None:
    triage = Agent(scripted([]), name="triage", handoffs=handoffs)
    with pytest.raises(ValidationError, match="`handoffs` of agent `triage`") as caught:
        Orchestrator([triage, expert(name="b")])
    assert caught.value.code == code


def test_an_agent_in_python_has_no_handoffs() -> None:
    class Own(Agent):
        handoffs = ("b",)

        def act(self, state: Any, ctx: Any) -> str:
            return "x"

    with pytest.raises(ValidationError, match=r"ctx\.goto") as caught:
        Orchestrator([Own(), expert(name="b")])
    assert caught.value.code == "agent_invalid"
