"""Things that the tests serve."""

from __future__ import annotations

from typing import Any

from antiphon import Agent, Orchestrator, tool
from antiphon.models import scripted


@tool(side_effect="read")
def population(city: str) -> int:
    """Number of inhabitants."""
    return {"Lyon": 520_774}[city]


@tool
def broken(city: str) -> str:
    """Raises."""
    raise ConnectionError(f"no way to {city}")


class Greeter(Agent[Any, Any]):
    """Greets people."""

    def act(self, state: Any, ctx: Any) -> Any:
        return f"hello {ctx.ask('your name?')}"


greeter = Greeter()
clerk = Agent(name="clerk", model=scripted(["Lyon has 520,774 people."] * 20))
team = Orchestrator([clerk], name="team")
