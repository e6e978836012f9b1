"""What a tool learns of the run that calls it."""

from __future__ import annotations

from typing import Any

from antiphon import Agent, AgentContext, Orchestrator, ToolContext, tool
from antiphon.models import scripted

CALL = {"tool_calls": [{"name": "look", "arguments": {}}]}


class Looks:
    """Keeps the contexts of its calls, and what it reads there at once."""

    def __init__(self) -> None:
        self.seen: list[ToolContext] = []
        self.state: dict[str, Any] = {}

    def look(self, call: ToolContext) -> str:
        self.seen.append(call)
        self.state = dict(call.state)
        return "seen"


def test_a_tool_of_a_declared_agent_sees_agent_thread_and_state() -> None:
    looks = Looks()
    agent = Agent(name="clerk", model=scripted([CALL, "Done."]), tools=[looks.look], timeout=60)
    team = Orchestrator([agent], checkpointer="memory:")
    team.run({"question": "Who?", "city": "Lyon"}, thread="t1")
    (call,) = looks.seen
    assert (call.agent, call.thread, call.name) == ("clerk", "t1", "look")
    assert call.deadline is not None
    assert call.logger.name == "antiphon.tool.look"
    assert (looks.state["question"], looks.state["city"]) == ("Who?", "Lyon")


def test_a_tool_called_by_code_sees_the_same() -> None:
    looks = Looks()

    class Clerk(Agent):
        tools = (looks.look,)

        def act(self, state: Any, ctx: AgentContext) -> str:
            return str(ctx.call("look"))

    Orchestrator([Clerk()], checkpointer="memory:").run("Who?", thread="t1")
    (call,) = looks.seen
    assert (call.agent, call.thread) == ("clerk", "t1")
    assert looks.state["question"] == "Who?"


def test_the_state_of_a_tool_is_read_only() -> None:
    @tool
    def spoil(call: ToolContext) -> str:
        call.state["cities"].append("Paris")
        try:
            call.state["cities"] = []  # type: ignore[index]
        except TypeError:
            return "read-only"
        return "written"

    model = scripted([{"tool_calls": [{"name": "spoil", "arguments": {}}]}, "Done."])
    team = Orchestrator([Agent(name="a", model=model, tools=[spoil])])
    result = team.run({"question": "Who?", "cities": ["Lyon"]})
    assert model.requests[1]["messages"][-1]["content"] == "read-only"
    assert result.state["cities"] == ["Lyon"]


def test_a_context_shows_neither_state_nor_context() -> None:
    call = ToolContext(
        name="look", call_id="1", idempotency_key="k", context="sesame", state={"key": "sesame"}
    )
    assert "sesame" not in repr(call)
