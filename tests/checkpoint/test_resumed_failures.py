"""What lists say of runs that failed and were taken up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, tool
from antiphon.checkpoint import MemorySaver, SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path

    from antiphon.graph import Durability


class Greet(Agent):
    """Greets a person by name."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return f"hello {ctx.ask('your name?')}"


class Flaky(Agent):
    """Fails the first time."""

    calls = 0

    async def act(self, state: Any, ctx: AgentContext) -> str:
        self.calls += 1
        if self.calls == 1:
            raise LookupError("not yet")
        return "mended"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_that_pauses_before_its_next_step_is_paused(
    tmp_path: Path, durability: Durability
) -> None:
    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        team = Orchestrator([[Greet(), Flaky()]], checkpointer=saver, durability=durability)
        with pytest.raises(LookupError):
            team.run("q", thread="t")
        assert saver.threads()[0].status == "failed"
        paused = team.resume("t")
        (thread,) = saver.threads()
        assert (paused.outcome, thread.status) == ("paused", "paused")
        assert thread.questions == 1
        assert team.resume("t", "Ada").outcome == "answered"
        assert saver.threads()[0].status == "ended"


def test_an_agent_whose_call_waits_for_approval_again_is_paused() -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pays."""
        return "paid"

    def replies(request: dict[str, Any]) -> Any:
        if request["messages"][-1]["role"] == "tool":
            return "done"
        return {"tool_calls": [{"id": "c1", "name": "pay", "arguments": {}}]}

    class Payer(Agent):
        """Pays once somebody approves."""

        model = staticmethod(replies)
        tools = (pay,)

    with MemorySaver() as saver:
        team = Orchestrator([[Payer(), Flaky()]], checkpointer=saver)
        with pytest.raises(LookupError):
            team.run("q", thread="t")
        assert team.resume("t").outcome == "paused"
        (thread,) = saver.threads()
        assert (thread.status, thread.questions) == ("paused", 1)
