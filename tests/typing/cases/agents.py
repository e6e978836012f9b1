"""The types of agents, teams, results and contexts, as checkers see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from antiphon import Agent, AgentContext, Orchestrator, Result, ToolContext, tool
from antiphon.tools import FunctionTool


@dataclass
class Deps:
    user: str


@dataclass
class City:
    name: str


class State(TypedDict):
    question: str
    feedback: str


@tool
def population(city: str, *, year: int = 2026) -> int:
    return len(city) + year


@tool(side_effect="read")
def whoami(call: ToolContext[Deps]) -> str:
    assert_type(call.context, Deps)
    return call.context.user


class Reviewer(Agent[Deps, str]):
    async def act(self, state: dict[str, Any], ctx: AgentContext[Deps]) -> str:
        assert_type(ctx.context, Deps)
        assert_type(ctx.model("Who?"), str)
        assert_type(ctx.ask("Who?"), Any)
        assert_type(ctx.ask("How many?", returns=int), int)
        assert_type(ctx.ask("Where?", returns=City), City)
        assert_type(ctx.model("Where?", output=City), City)
        assert_type(await ctx.amodel("Where?", output=City), City)
        assert_type(await ctx.amodel("Who?"), str)
        return ctx.context.user


def tools() -> None:
    assert_type(population("Lyon", year=2000), int)
    assert_type(population.call({"city": "Lyon"}), Any)
    _: FunctionTool[..., int] = population


def agents() -> None:
    result = Reviewer().run("Who?", context=Deps("ada"))
    assert_type(result, Result[str, dict[str, Any]])
    assert_type(result.answer, str)
    assert_type(Agent("openai:gpt-5-mini", output=City).run("Where?").answer, City)


async def awaited() -> None:
    result = await Reviewer().arun("Who?", context=Deps("ada"))
    assert_type(result.answer, str)
    results = await Reviewer().abatch(["Who?"], context=Deps("ada"))
    assert_type(results, list[Result[str, dict[str, Any]]])
    async for event in Reviewer().astream("Who?", context=Deps("ada")):
        assert_type(event.kind, str)


def teams() -> None:
    team: Orchestrator[State, Deps] = Orchestrator([Reviewer()], state=State)
    result = team.run("Who?", context=Deps("ada"))
    assert_type(result.state, State)
    assert_type(result.state["feedback"], str)
    assert_type(team.resume(result, "yes", context=Deps("ada")).state, State)
    assert_type(Orchestrator([Reviewer()], state=State).run("Who?").state, State)
    with team.stream("Who?", context=Deps("ada")) as stream:
        assert_type(stream.result.state, State)
