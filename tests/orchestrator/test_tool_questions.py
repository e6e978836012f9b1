"""Tools of teams that ask a person before they return."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator, ToolContext, tool
from antiphon.errors import StateError
from antiphon.graph import interrupt
from antiphon.models import scripted
from antiphon.tools import CircuitBreaker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from antiphon.tools import Tool


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": given} for name, given in named]}


def clerk(*tools: Tool, says: str = "booked") -> Agent:
    asked = [(one.name, {"city": "Lyon"}) for one in tools]
    return Agent(name="clerk", model=scripted([calls(*asked), says]), tools=tools)


def by_interrupt() -> Tool:
    @tool
    def book(city: str) -> str:
        """Books."""
        return f"{interrupt(f'beds in {city}?')} beds"

    return book


def by_context() -> Tool:
    @tool
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?')} beds"

    return book


def awaited() -> Tool:
    @tool
    async def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?')} beds"

    return book


def timed() -> Tool:
    @tool(timeout=60)
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?')} beds"

    return book


def timed_and_awaited() -> Tool:
    @tool(timeout=60)
    async def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?')} beds"

    return book


def guarded() -> Tool:
    @tool(breaker=CircuitBreaker(failures=1), max_concurrency=1, max_calls=1)
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?')} beds"

    return book


KINDS = [by_interrupt, by_context, awaited, timed, timed_and_awaited, guarded]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_the_tool_continues_with_the_answer(make: Callable[[], Tool]) -> None:
    agent = clerk(make())
    team = Orchestrator([agent])
    paused = team.run("a room")
    assert paused.outcome == "paused"
    assert [question.value for question in paused.questions] == ["beds in Lyon?"]
    done = team.resume(paused, 2)
    assert (done.outcome, done.answer) == ("answered", "booked")
    assert agent.model.requests[1]["messages"][-1]["content"] == "2 beds"
    assert done.usage.tool_calls == 1


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_the_tool_continues_with_the_answer_on_an_event_loop(make: Callable[[], Tool]) -> None:
    async def asked() -> None:
        team = Orchestrator([clerk(make())])
        paused = await team.arun("a room")
        assert [question.value for question in paused.questions] == ["beds in Lyon?"]
        assert (await team.aresume(paused, 2)).answer == "booked"

    asyncio.run(asked())


def test_a_call_is_made_again_with_the_same_key_and_in_order() -> None:
    seen: list[tuple[str, str]] = []

    @tool
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        seen.append((call.idempotency_key, call.call_id))
        beds = call.ask("beds?")
        return f"{beds} beds, {call.ask('when?')}, {city}"

    agent = clerk(book)
    team = Orchestrator([agent])
    paused = team.run("a room")
    paused = team.resume(paused, 2)
    assert [question.value for question in paused.questions] == ["when?"]
    assert team.resume(paused, "today").answer == "booked"
    assert agent.model.requests[1]["messages"][-1]["content"] == "2 beds, today, Lyon"
    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    @tool
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        return f"{call.ask(f'beds in {city}?', returns=int) + 1} beds"

    agent = clerk(book)
    team = Orchestrator([agent])
    again = team.resume(team.run("a room"), "two")
    question, problem = again.questions[0].value.split("\n")
    assert question == "beds in Lyon?"
    assert problem == "The last answer does not fit: `answer` should be a whole number: 'two'"
    assert team.resume(again, "2").answer == "booked"
    assert agent.model.requests[1]["messages"][-1]["content"] == "3 beds"


def test_a_type_without_a_schema_is_refused_before_anybody_is_asked() -> None:
    @tool
    def book(city: str, call: ToolContext) -> str:
        """Books."""
        return str(call.ask(f"beds in {city}?", returns=object()))

    agent = clerk(book)
    assert Orchestrator([agent]).run("a room").answer == "booked"
    said = agent.model.requests[1]["messages"][-1]["content"]
    assert "the answer that tool `book` asks for" in said


def test_the_answer_may_come_in_another_process(tmp_path: Path) -> None:
    model = scripted([calls(("book", {"city": "Lyon"})), "booked"])

    def team() -> Orchestrator:
        agent = Agent(name="clerk", model=model, tools=[by_context()])
        return Orchestrator([agent], checkpointer=f"sqlite:{tmp_path}/runs.db")

    assert team().run("a room", thread="t").outcome == "paused"
    assert team().resume("t", 2).answer == "booked"
    assert [request["messages"][-1]["content"] for request in model.requests] == [
        "a room",
        "2 beds",
    ]


def test_code_of_an_agent_calls_a_tool_that_asks() -> None:
    class Host(Agent):
        """Books by code."""

        tools = (by_context(),)

        def act(self, state: Any, ctx: Any) -> str:
            del state
            return str(ctx.call("book", city="Lyon"))

    team = Orchestrator([Host()])
    paused = team.run("a room")
    assert [question.value for question in paused.questions] == ["beds in Lyon?"]
    assert team.resume(paused, 2).answer == "2 beds"


def test_a_team_within_a_tool_cannot_ask() -> None:
    inner = Orchestrator([clerk(by_context())])

    @tool
    def delegate(city: str) -> str:
        """Delegates."""
        return str(inner.run(city).answer)

    with pytest.raises(StateError) as raised:
        Orchestrator([clerk(delegate)]).run("a room")
    assert raised.value.code == "question_misplaced"


def test_a_direct_call_cannot_ask() -> None:
    context = ToolContext(name="book", call_id="1", idempotency_key="1")
    with pytest.raises(StateError, match="cannot ask a person") as raised:
        by_context().call({"city": "Lyon"}, context)
    assert raised.value.code == "question_misplaced"
