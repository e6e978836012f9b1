"""The traces of ready systems whose roles are code."""

from __future__ import annotations

from typing import Any

from antiphon import Agent, AgentContext
from antiphon.models import scripted
from antiphon.systems import ReviewLoop


def plan(_: Any) -> dict[str, Any]:
    return {"research_steps": [], "expert_steps": ["count"]}


class Expert(Agent):
    """Counts."""

    def act(self, state: Any, ctx: AgentContext[Any]) -> dict[str, Any]:
        ctx.model("Count.", model=scripted(["3"]))
        return {"expert_answer": "3", "reasoning_trace": "x" * 30_000}


def loop(critic: Any) -> ReviewLoop:
    nothing: Any = {"result": "nothing"}
    return ReviewLoop(planner=plan, critic=critic, expert=Expert(), researcher=lambda _: nothing)


def test_roles_that_are_code_are_agents_of_the_trace_with_what_they_return() -> None:
    trace = loop(lambda _: {"decision": "approve"}).run("How many?").trace
    assert [agent.name for agent in trace.agents] == ["planner", "critic", "expert", "critic"]
    planner, critic, expert, _ = trace.agents
    assert planner.reply == {"research_steps": [], "expert_steps": ["count"]}
    assert critic.reply == {"decision": "approve"}
    assert expert.reply.startswith("[left out: 30")
    assert [call.text for call in trace.model_calls] == ["3"]
    assert 'returned: {"decision": "approve"}' in str(trace)
    assert "{&quot;decision&quot;: &quot;approve&quot;}" in trace.to_html()
    assert trace.to_dict()["agents"][1]["reply"] == {"decision": "approve"}


def test_a_reply_that_does_not_fit_is_in_the_trace() -> None:
    result = loop(lambda _: {"decison": "approve"}).run("How many?")
    critic = result.trace.agents[1]
    assert critic.reply == {"decison": "approve"}
    assert critic.error is not None
    assert "decision" in critic.error
