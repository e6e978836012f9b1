"""How runs end: with an answer, without one, and at limits."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest

from antiphon import Agent, AgentContext, Budget, Orchestrator, tool
from antiphon.errors import BudgetError, ModelOutputError, StateError
from antiphon.models import scripted


class Forgets(Agent):
    """Has no `return`."""

    def act(self, state: Any, ctx: AgentContext) -> None:
        del state, ctx


class Reports(Agent):
    """Writes its own key."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"report": "done"}


class Ends(Agent):
    """Ends the run as it is."""

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return ctx.end()


class Says(Agent):
    """Writes a message, but no answer."""

    def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
        return {"messages": "hm"}


class Report(TypedDict, total=False):
    report: str


@pytest.mark.parametrize("agent", [Forgets, Ends, Says])
def test_a_run_in_which_nobody_answers_has_no_answer(agent: type[Agent]) -> None:
    result = agent().run("q")
    assert (result.outcome, result.answer) == ("no_answer", None)
    with pytest.raises(StateError, match="without an answer") as caught:
        result.raise_for_outcome()
    assert caught.value.code == "run_unanswered"


def test_an_answer_of_blanks_is_none() -> None:
    class Blank(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            return "  "

    assert Blank().run("q").outcome == "no_answer"


@pytest.mark.parametrize("state", [None, Report])
def test_agents_that_write_other_keys_answer_with_them(state: Any) -> None:
    assert Orchestrator([Reports(), Ends()], state=state).run("q").outcome == "answered"
    writer = Agent(scripted(["text"]), name="writer", writes="report")
    assert Orchestrator([writer], state=state).run("q").outcome == "answered"


def test_what_a_caller_passed_is_no_answer() -> None:
    assert Forgets().run({"question": "q", "report": "given"}).outcome == "no_answer"


def test_each_turn_of_a_thread_needs_its_own_answer() -> None:
    class Once(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"report": 1} if len(state["messages"]) == 1 else None

    agent = Once(checkpointer="memory:")
    assert agent.run("one", thread="t").outcome == "answered"
    assert agent.run("two", thread="t").outcome == "no_answer"
    assert agent.state("t").outcome == "no_answer"


def test_a_router_that_finishes_at_once_has_no_answer() -> None:
    router = scripted([{"json": {"next": "finish"}}])
    assert Orchestrator([Reports()], router=router).run("q").outcome == "no_answer"


# Routers in Python


class Chooses(Agent):
    """Returns what it was given, one after the other."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(name="boss")
        self.replies = list(replies)

    def act(self, state: Any, ctx: AgentContext) -> Any:
        return self.replies.pop(0)


def test_a_router_that_returns_a_name_routes_to_it() -> None:
    result = Orchestrator([Reports()], router=Chooses("reports", "finish")).run("q")
    assert (result.state["report"], result.outcome) == ("done", "answered")
    assert "answer" not in result.state


@pytest.mark.parametrize("reply", ["report", None, {"answer": "x"}])
def test_an_error_of_a_router_that_names_no_agent_lists_the_agents(reply: Any) -> None:
    with pytest.raises(StateError, match="router `boss` must return the name") as caught:
        Orchestrator([Reports()], router=Chooses(reply)).run("q")
    assert caught.value.code == "target_unknown"
    assert repr(reply) in caught.value.message
    assert "its agents are reports" in str(caught.value.hint)


def test_a_model_as_router_that_names_no_agent_receives_the_agents() -> None:
    with pytest.raises(ModelOutputError, match='"coder"') as caught:
        Orchestrator([Reports()], router=scripted(['"coder"'] * 2)).run("q")
    assert '{"next": "reports" | "finish"}' in str(caught.value)


def test_the_error_of_a_function_as_router_says_that_it_is_called_as_a_model() -> None:
    with pytest.raises(ModelOutputError, match="a function as `router=` is called as a model"):
        Orchestrator([Reports()], router=lambda state: "reports").run("q")
    with pytest.raises(ModelOutputError) as caught:
        Orchestrator([Reports()], router=scripted(["reports"] * 2)).run("q")
    assert "a function" not in str(caught.value)


# Limits


def test_a_reply_that_was_cut_off_is_no_answer_but_stays() -> None:
    cut = {"text": "Lyon has 522", "finish": "length"}
    team = Orchestrator([Agent(scripted([cut]), name="a"), Reports()])
    result = team.run("q")
    assert (result.outcome, result.reason) == ("budget", "max_output_tokens")
    assert result.answer == "Lyon has 522"
    assert "report" not in result.state
    with pytest.raises(BudgetError, match="max_output_tokens"):
        result.raise_for_outcome()


HALF = {"text": "Lyon has 522", "finish": "length"}


class Asks(Agent):
    """Asks a model."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        return ctx.model("q")


class AsksLater(Agent):
    """Asks a model, on an event loop."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return await ctx.amodel("q")


class AsksInTasks(Agent):
    """Asks a model in a group of tasks."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(ctx.amodel("q"))
        return task.result()


@pytest.mark.parametrize("kind", [Asks, AsksLater, AsksInTasks])
def test_a_reply_to_code_that_was_cut_off_is_no_answer_but_stays(kind: type[Agent]) -> None:
    result = Orchestrator([kind(scripted([HALF]), name="a"), Reports()]).run("q")
    assert (result.outcome, result.reason) == ("budget", "max_output_tokens")
    assert result.answer == "Lyon has 522"
    assert result.messages[-1]["content"] == "Lyon has 522"
    assert "report" not in result.state


def test_code_may_catch_that_a_reply_was_cut_off() -> None:
    class Shortens(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            try:
                return ctx.model("q")
            except BudgetError as error:
                return f"{error.details['text']}, up to {error.details['dimension']}"

    result = Orchestrator([Shortens(scripted([HALF]), name="a")]).run("q")
    assert (result.outcome, result.answer) == ("answered", "Lyon has 522, up to max_output_tokens")


def test_other_limits_are_raised_by_code_as_before() -> None:
    class Spends(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            ctx.model("q")
            return ctx.model("q")

    team = Orchestrator([Spends(scripted(["one", "two"]), name="a")], budget=Budget(model_calls=1))
    result = team.run("q")
    assert (result.outcome, result.reason, result.answer) == ("budget", "model_calls", None)


def test_a_reply_that_was_cut_off_in_a_team_within_a_team_stays() -> None:
    def inner() -> Orchestrator:
        return Orchestrator([Agent(scripted([HALF]), name="i", writes="draft")], name="inner")

    for team in (
        Orchestrator([inner(), Reports()]),
        Orchestrator([Orchestrator([inner()], name="middle"), Reports()]),
    ):
        result = team.run("q")
        assert (result.outcome, result.reason) == ("budget", "max_output_tokens")
        assert result.state["draft"] == "Lyon has 522"
        assert result.messages[-1]["content"] == "Lyon has 522"
        assert "report" not in result.state
    answers = Orchestrator([Agent(scripted([HALF]), name="i")], name="inner")
    assert Orchestrator([answers]).run("q").answer == "Lyon has 522"


class City(TypedDict):
    """A city."""

    name: str
    note: str


@pytest.mark.parametrize("declared", [True, False])
def test_half_of_a_typed_reply_is_asked_for_again_and_is_no_value(declared: bool) -> None:
    class AsksForCity(Agent):
        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            return {"answer": ctx.model("q", output=City)}

    half = {"text": '{"name": "Lima", "note": "The capital of Per', "finish": "length"}
    whole = {"text": '{"name": "Lima", "note": "A capital"}\n\n', "finish": "length"}

    def agent(*replies: dict[str, str]) -> tuple[Orchestrator, Any]:
        model = scripted(list(replies))
        if declared:
            return Orchestrator([Agent(model, name="a", output=City)]), model
        return Orchestrator([AsksForCity(model, name="a")]), model

    team, model = agent(half, whole)
    result = team.run("q")
    assert (result.outcome, result.answer) == ("answered", {"name": "Lima", "note": "A capital"})
    assert "shorter" in model.requests[1]["messages"][-1]["content"]

    team, _ = agent(half, half)
    with pytest.raises(ModelOutputError, match="cut off") as caught:
        team.run("q")
    assert caught.value.details["raw"] == half["text"]
    assert caught.value.details["finish"] == "length"


def test_the_retries_of_a_budget_are_a_separate_limit() -> None:
    class Fails(Agent):
        retry = 3

        def act(self, state: Any, ctx: AgentContext) -> None:
            raise ConnectionError("no line")

    result = Orchestrator([Fails()], budget=Budget(retries=0)).run("q")
    assert (result.outcome, result.reason) == ("retry_limit", "retries")


# Fallbacks


class Breaks(Agent):
    """Raises."""

    def act(self, state: Any, ctx: AgentContext) -> None:
        raise LookupError("no such city")


def test_a_fallback_may_be_an_agent_that_is_not_in_the_team() -> None:
    spare = Agent(scripted(["sorry"]), name="spare")
    result = Breaks(fallback=spare).run("q")
    assert (result.answer, result.outcome) == ("sorry", "answered")


def test_a_fallback_of_the_team_serves_agents_without_their_own_policy() -> None:
    def team(**options: Any) -> Orchestrator:
        spare = Agent(scripted(["sorry"]), name="spare")
        return Orchestrator([Breaks(**options), Reports()], fallback=spare)

    assert team().run("q").answer == "sorry"
    assert team(on_error="record").run("q").state["report"] == "done"
    with pytest.raises(LookupError):
        team(on_error="raise").run("q")


def test_the_flow_continues_after_a_fallback_that_it_names() -> None:
    spare = Agent(scripted(["sorry"]), name="spare")
    agents = [Breaks(fallback=spare), Reports()]
    flow = {"breaks": "reports", "spare": "reports"}
    result = Orchestrator(agents, flow=flow).run("q")
    assert (result.answer, result.state["report"]) == ("sorry", "done")


def test_an_agent_with_an_output_that_only_calls_tools_ends_at_its_limit_of_model_calls() -> None:
    @tool(side_effect="read")
    def look() -> str:
        """Looks."""
        return "nothing"

    call = {"tool_calls": [{"name": "look", "arguments": {}}]}
    agent = Agent(scripted([call] * 9), name="a", tools=[look], max_model_calls=3, output=int)
    result = Orchestrator([agent]).run("q")
    assert (result.outcome, result.reason) == ("budget", "max_model_calls")
    assert result.usage.model_calls == 3
