"""Agents in the roles of a review loop."""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
import weakref
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from antiphon import Agent, AgentContext, Budget, RetryPolicy, tool
from antiphon.errors import (
    InternalError,
    ModelOutputError,
    RunTimeout,
    StateError,
    ToolError,
    ValidationError,
)
from antiphon.models import scripted
from antiphon.systems import ReviewLoop, ReviewLoopResult, RoleContext
from systems.test_review_loop import APPROVE, FOUND, PLAN, SOLVED, WORDED, model

if TYPE_CHECKING:
    from pathlib import Path

REPLIES: dict[str, dict[str, Any]] = {
    "planner": PLAN,
    "critic": APPROVE,
    "researcher": FOUND,
    "expert": SOLVED,
    "finalizer": WORDED,
}
ALWAYS = {"step", "index", "attempt", "instruction", "messages", "schema"}
KEYS = {
    "planner": {"question", "asked_on", "file", "feedback", "research_tools", "expert_tools"},
    "researcher": {"question", "asked_on", "file", "feedback", "research_step", "earlier_results"},
    "expert": {
        "question",
        "asked_on",
        "file",
        "feedback",
        "research_steps",
        "research_results",
        "expert_steps",
    },
    "finalizer": {
        "question",
        "asked_on",
        "file",
        "research_steps",
        "research_results",
        "expert_answer",
        "expert_reasoning",
    },
}
REVIEWED = {
    "critic_planner": {"research_steps", "expert_steps"},
    "critic_researcher": {"research_step", "result", "tool_calls"},
    "critic_expert": {
        "research_steps",
        "research_results",
        "expert_answer",
        "expert_reasoning",
        "tool_calls",
    },
}


def agent_of(role: str, *, asynchronous: bool, seen: list[dict[str, Any]]) -> type[Agent]:
    """An agent that answers as the script of a role does, and keeps what it was given."""

    class Sync(Agent):
        def act(self, state: Any, ctx: RoleContext) -> Any:
            assert ctx.role == role
            seen.append(state)
            return REPLIES[role]

    class Async(Agent):
        async def act(self, state: Any, ctx: RoleContext) -> Any:
            await asyncio.sleep(0)
            assert ctx.role == role
            seen.append(state)
            return REPLIES[role]

    return Async if asynchronous else Sync


def given(role: str, agent: Any) -> dict[str, Any]:
    return {role: agent}


# An agent's own run


@pytest.mark.parametrize("name", [None, "monday"])
def test_a_role_knows_the_thread_that_stores_its_question(name: str | None, tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Planner(Agent):
        def act(self, state: Any, ctx: RoleContext) -> Any:
            del state
            seen.append(ctx.thread)
            return PLAN

    store = None if name is None else f"sqlite:{tmp_path / 'threads.db'}"
    ReviewLoop(model(), planner=Planner, checkpointer=store).run("?", thread=name)
    assert seen == [name]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("role", REPLIES)
def test_an_agent_fills_each_role_and_is_given_what_the_guide_lists(
    role: str, asynchronous: bool
) -> None:
    seen: list[dict[str, Any]] = []
    kind = agent_of(role, asynchronous=asynchronous, seen=seen)
    result = ReviewLoop(model(), **given(role, kind)).run("What is the capital of Peru?")
    assert (result.outcome, result.answer) == ("answered", "Lima")
    if role == "critic":
        for state in seen:
            own = {"target", "work", "question", "asked_on", "file"} | REVIEWED[state["step"]]
            assert set(state) == ALWAYS | own
        assert [state["target"] for state in seen] == ["planner", "researcher", "expert"]
        assert [state["work"] for state in seen] == [
            "look it up\nsay it",
            "Lima, says the atlas",
            "Lima",
        ]
    else:
        (state,) = seen
        assert set(state) == ALWAYS | KEYS[role]
        assert state["question"] == "What is the capital of Peru?"
        assert (state["step"], state["attempt"]) == (role, 1)


def test_all_roles_may_be_agents_and_then_no_model_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTIPHON_MODEL", "nobody:x")
    roles: dict[str, Any] = {
        role: agent_of(role, asynchronous=place % 2 == 0, seen=[])
        for place, role in enumerate(REPLIES)
    }
    result = ReviewLoop(**roles).run("?")
    assert (result.answer, result.models) == ("Lima", ())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_role_works_inside_a_running_loop_in_every_call_style(asynchronous: bool) -> None:
    roles: dict[str, Any] = {
        role: agent_of(role, asynchronous=asynchronous, seen=[]) for role in REPLIES
    }
    loop = ReviewLoop(**roles)

    async def cell() -> list[str | None]:
        answers = [loop.run("?").answer, (await loop.arun("?")).answer]
        answers += [result.answer for result in loop.batch(["?", "!"], concurrency=2)]
        answers += [result.answer for result in await loop.abatch(["?", "!"])]
        with loop.stream("?") as stream:
            kinds = {event.kind for event in stream}
        async with loop.astream("?") as later:
            more = {event.kind async for event in later}
        assert kinds == more
        return [*answers, stream.result.answer, later.result.answer]

    assert asyncio.run(cell()) == ["Lima"] * 8


def test_coroutines_run_on_the_loop_that_awaits_and_see_its_variables() -> None:
    user = ContextVar("user", default="nobody")
    seen = []

    class Expert(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            seen.append((asyncio.get_running_loop(), user.get()))
            user.set("somebody else")
            return SOLVED

    async def ask() -> None:
        user.set("Ada")
        await ReviewLoop(model(), expert=Expert).arun("?")
        assert seen == [(asyncio.get_running_loop(), "Ada")]
        assert user.get() == "Ada"

    asyncio.run(ask())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_research_steps_run_side_by_side(asynchronous: bool) -> None:
    plan = {"research_steps": ["first", "second"], "expert_steps": ["say it"]}
    both = threading.Barrier(2, timeout=30)

    class Sync(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            both.wait()
            return f"{state['index']}: {state['research_step']}"

    class Async(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> str:
            await asyncio.to_thread(both.wait)
            return f"{state['index']}: {state['research_step']}"

    script = model(planner=[plan], critic=[APPROVE] * 4)
    researcher = Async if asynchronous else Sync
    loop = ReviewLoop(script, researcher=researcher, research_mode="parallel")
    assert loop.run("?").state["research_results"] == ["0: first", "1: second"]


def test_work_that_is_sent_back_comes_with_the_feedback() -> None:
    seen = []

    class Expert(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            seen.append((state["attempt"], state["feedback"], ctx.attempt))
            return "Lima"

    verdicts = [APPROVE, APPROVE, {"decision": "reject", "feedback": "say why"}, APPROVE]
    result = ReviewLoop(model(critic=verdicts), expert=Expert).run("?")
    assert result.outcome == "answered"
    assert seen == [(1, None, 1), (2, "say why", 1)]


def test_a_critic_may_be_shown_the_work_alone() -> None:
    seen: list[dict[str, Any]] = []
    critic = agent_of("critic", asynchronous=False, seen=seen)
    ReviewLoop(model(), critic=critic, critic_context="minimal").run("?")
    assert all(set(state) == ALWAYS | {"target", "work"} for state in seen)


def test_the_planner_knows_the_tools_that_agents_have() -> None:
    seen: list[dict[str, Any]] = []

    @tool
    def atlas(country: str) -> str:
        """Looks a country up."""
        return f"{country}: Lima"

    class Researcher(Agent):
        tools = (atlas,)

        def act(self, state: Any, ctx: AgentContext) -> Any:
            return ctx.call("atlas", country="Peru")

    planner = agent_of("planner", asynchronous=False, seen=seen)
    result = ReviewLoop(model(), planner=planner, researcher=Researcher).run("?")
    assert result.state["research_results"] == ["Peru: Lima"]
    assert seen[0]["research_tools"] == [{"name": "atlas", "description": "Looks a country up."}]
    assert seen[0]["expert_tools"] == []


# Replies


@dataclass
class Verdict:
    decision: str
    feedback: str = ""


class Ruling(BaseModel):
    decision: str = "approve"
    feedback: str = ""


@pytest.mark.parametrize("reply", [Verdict("Approve"), Ruling(), {"decision": "approve"}])
def test_a_reply_may_be_any_record(reply: Any) -> None:
    class Critic(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return reply

    assert ReviewLoop(model(), critic=Critic).run("?").outcome == "answered"


@pytest.mark.parametrize(
    ("role", "reply", "field", "naming"),
    [
        ("critic", {"decision": "perhaps"}, "decision", '"perhaps"'),
        ("critic", "approve", "", "str"),
        ("critic", None, "", "NoneType"),
        ("planner", {"research_steps": [], "expert_steps": []}, "expert_steps", "empty"),
        ("expert", {"expert_answer": "x"}, "reasoning_trace", "nothing"),
        ("expert", {"expert_answer": object(), "reasoning_trace": ""}, "expert_answer", "object"),
        ("researcher", " ", "result", '" "'),
    ],
)
def test_a_wrong_reply_is_named_with_role_field_and_value(
    role: str, reply: Any, field: str, naming: str
) -> None:
    class Wrong(Agent):
        def act(self, state: Any, ctx: AgentContext) -> Any:
            return reply

    result = ReviewLoop(model(), **given(role, Wrong), retry_limit=2).run("?")
    assert (result.outcome, result.retry_count) == ("retry_limit", 2)
    error = result.error
    assert isinstance(error, ModelOutputError)
    assert error.code == "role_reply_invalid"
    assert role in error.message
    assert naming in error.message
    assert (error.details["role"], error.details["field"]) == (role, field)


# Failures


def test_what_it_raises_ends_the_question_and_keeps_its_traceback() -> None:
    class Planner(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            return self.broken()

        def broken(self) -> Any:
            raise KeyError("no plan")

    result = ReviewLoop(model(), planner=Planner).run("?")
    assert (result.outcome, result.error_component) == ("error", "planner")
    assert isinstance(result.error, InternalError)
    cause = result.error.__cause__
    assert isinstance(cause, KeyError)
    assert any("broken" in line for line in traceback.format_exception(cause))
    assert "raised" not in result.error.details
    assert "raised" not in result.to_json()
    with pytest.raises(InternalError) as caught:
        result.raise_for_outcome()
    assert caught.value.__cause__ is cause


def test_a_passing_error_is_counted_and_the_agent_asked_again() -> None:
    raised: list[Exception] = []

    class Researcher(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            if not raised:
                raised.append(ToolError("the atlas is torn: page 7", code="atlas_torn"))
                raise raised[0]
            return "Lima"

    result = ReviewLoop(model(), researcher=Researcher).run("?")
    assert (result.outcome, result.retry_count) == ("answered", 1)
    raised.clear()

    class Torn(Researcher):
        def act(self, state: Any, ctx: AgentContext) -> str:
            raised.clear()
            return super().act(state, ctx)

    result = ReviewLoop(model(), researcher=Torn, retry_limit=1).run("?")
    assert result.outcome == "retry_limit"
    assert result.error is raised[0]


def test_nothing_of_a_failed_attempt_stays_behind() -> None:
    class Marker:
        """Lives as long as the frame of the attempt."""

    seen: list[weakref.ref[Marker]] = []

    class Expert(Agent):
        def act(self, state: Any, ctx: AgentContext) -> str:
            marker = Marker()
            seen.append(weakref.ref(marker))
            if len(seen) == 1:
                raise ToolError("the abacus broke: bead", code="abacus_broken")
            return "Lima"

    assert ReviewLoop(model(), expert=Expert).run("?").retry_count == 1
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_roles_own_retry_comes_before_the_loops() -> None:
    attempts = []

    class Expert(Agent):
        retry = RetryPolicy(max_attempts=3, initial_interval=0, jitter=False, retry_on=KeyError)

        def act(self, state: Any, ctx: AgentContext) -> str:
            attempts.append((ctx.attempt, state["attempt"]))
            if len(attempts) < 3:
                raise KeyError("again")
            return "Lima"

    result = ReviewLoop(model(), expert=Expert).run("?")
    assert (result.outcome, result.retry_count) == ("answered", 0)
    assert attempts == [(1, 1), (2, 1), (3, 1)]


def test_a_roles_time_out_cancels_it_and_counts() -> None:
    stopped = threading.Event()

    class Expert(Agent):
        timeout = 0.05

        async def act(self, state: Any, ctx: AgentContext) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    result = ReviewLoop(model(), expert=Expert, retry_limit=1).run("?")
    assert (result.outcome, result.retry_count) == ("retry_limit", 1)
    assert isinstance(result.error, RunTimeout)
    assert stopped.wait(30)


def test_a_roles_budget_ends_the_question() -> None:
    class Expert(Agent):
        model = scripted(["hm"] * 9)
        budget = Budget(model_calls=2)

        def act(self, state: Any, ctx: AgentContext) -> Any:
            while True:
                ctx.model("well?")

    result = ReviewLoop(model(), expert=Expert).run("?")
    assert result.outcome == "budget"


@pytest.mark.parametrize("way", ["arun", "astream", "abatch"])
def test_cancelling_a_question_reaches_its_role(way: str) -> None:
    started = threading.Event()
    stopped = threading.Event()

    class Expert(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    loop = ReviewLoop(model(), expert=Expert)

    async def take() -> None:
        if way == "arun":
            await loop.arun("?")
        elif way == "abatch":
            await loop.abatch(["?"])
        else:
            async for _ in loop.astream("?"):
                pass

    async def ask() -> None:
        task = asyncio.ensure_future(take())
        await asyncio.to_thread(started.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(stopped.wait, 30)

    asyncio.run(ask())


def test_a_stream_that_is_thrown_away_stops_its_question() -> None:
    stopped = threading.Event()

    class Planner(Agent):
        async def act(self, state: Any, ctx: AgentContext) -> Any:
            ctx.emit({}, "started")
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

    async def read() -> None:
        async for event in ReviewLoop(model(), planner=Planner).astream("?"):
            if event.name == "started":
                break
        gc.collect()
        assert await asyncio.to_thread(stopped.wait, 30)

    asyncio.run(read())


def test_an_agent_that_nobody_waits_for_may_call_nothing_more() -> None:
    started, left = threading.Event(), threading.Event()
    heard: list[BaseException] = []
    over = threading.Event()

    class Expert(Agent):
        model = scripted(["hm"])

        def act(self, state: Any, ctx: AgentContext) -> Any:
            started.set()
            left.wait(30)
            try:
                ctx.model("still there?")
            except BaseException as error:
                heard.append(error)
                raise
            finally:
                over.set()

    async def ask() -> None:
        task = asyncio.ensure_future(ReviewLoop(model(), expert=Expert).arun("?"))
        await asyncio.to_thread(started.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    left.set()
    assert over.wait(30)
    assert getattr(heard[0], "code", "") == "task_cancelled"


# The context


def test_a_role_emits_asks_models_and_calls_tools() -> None:
    @tool
    def double(number: int) -> int:
        """Doubles."""
        return 2 * number

    class Expert(Agent):
        name = "counter"
        model = scripted([{"text": "21", "usage": {"input_tokens": 3, "output_tokens": 4}}])
        tools = (double,)

        async def act(self, state: Any, ctx: AgentContext) -> Any:
            ctx.emit({"half": 21}, "counted")
            ctx.emit(object())
            half = await ctx.amodel("half?", output=int)
            whole = await ctx.acall("double", number=half)
            return {"expert_answer": str(whole), "reasoning_trace": ctx.agent}

    Expert.model = scripted(
        [{"json": {"value": 21}, "usage": {"input_tokens": 3, "output_tokens": 4}}]
    )
    seen: list[Any] = []
    result = ReviewLoop(model(), expert=Expert).run("?", watch=seen.append)
    assert result.state["expert_answer"] == "42"
    assert result.state["expert_reasoning"] == "counter"
    assert (result.usage.input_tokens, result.usage.output_tokens) >= (3, 4)
    data = {event.name: event.data for event in result.events if event.path[-1:] == ("expert",)}
    assert data["counted"] == {"half": 21}
    assert data["custom"] == {"value": "<object>"}
    chunks = [event.data["text"] for event in seen if event.kind == "chunk"]
    assert '"value"' in "".join(chunks)


@pytest.mark.parametrize("verb", ["goto", "send", "end", "ask"])
def test_verbs_of_a_team_are_refused(verb: str) -> None:
    class Critic(Agent):
        def act(self, state: Any, ctx: Any) -> Any:
            return getattr(ctx, verb)("expert", None) if verb == "send" else getattr(ctx, verb)("x")

    result = ReviewLoop(model(), critic=Critic).run("?")
    assert result.outcome == "error"
    assert isinstance(result.error, StateError)
    assert result.error.code == "role_verb_unavailable"
    assert f"ctx.{verb}" in result.error.message


# Declared


def test_a_declared_agent_brings_instructions_tools_model_and_limits() -> None:
    calls: list[str] = []

    class Strict(Agent):
        """Reviews."""

        instructions = "You are a lawyer. Approve nothing without a source."
        model = scripted(
            [
                {"tool_calls": [{"name": "sources", "arguments": {"of": "the plan"}}]},
                *[{"json": APPROVE}] * 3,
            ]
        )
        temperature = 0.5
        max_output_tokens = 99
        max_tool_calls = 1

        @tool
        def sources(self, of: str) -> str:
            """Lists sources."""
            calls.append(of)
            return "an atlas"

        tools = (sources,)

    result = ReviewLoop(model(), critic=Strict).run("?")
    assert (result.outcome, calls) == ("answered", ["the plan"])
    requests = Strict.model.requests
    orders = requests[0]["messages"][0]["content"]
    assert orders.startswith("You are a lawyer.")
    assert '"decision": "approve"' in orders
    assert [one["name"] for one in requests[0]["tools"]] == ["sources"]
    assert (requests[0]["temperature"], requests[0]["max_output_tokens"]) == (0.5, 99)
    assert requests[0]["tags"] == {"agent": "strict", "role": "critic"}


def test_no_temperature_of_an_agent_is_its_own_too() -> None:
    class Unset(Agent):
        """Says nothing of it."""

    class Unheated(Agent):
        """Wants none."""

        temperature = None

    for expert, sent in (
        (Unset(model()), 0.3),
        (Unset(model(), temperature=None), None),
        (Unheated(model()), None),
        (Unheated(model(), temperature=0.7), 0.7),
    ):
        assert ReviewLoop(model(), temperature=0.3, expert=expert).run("?").outcome == "answered"
        assert [one.get("temperature") for one in expert.model.requests] == [sent]


def test_a_declared_agent_without_a_model_takes_that_of_the_loop() -> None:
    script = model()
    result = ReviewLoop(script, expert=Agent(name="sage", instructions="Be brief.")).run("?")
    assert result.outcome == "answered"
    asked = [one for one in script.requests if one["tags"]["role"] == "expert"]
    assert asked[0]["tags"]["agent"] == "sage"
    assert asked[0]["messages"][0]["content"].startswith("Be brief.\n\nYou ")


def test_shared_tools_go_to_agents_that_list_none() -> None:
    @tool
    def atlas(country: str) -> str:
        """Looks a country up."""
        return country

    script = model()
    plain, bare = Agent(instructions="Look twice."), Agent(name="b", tools=[])
    ReviewLoop(script, researcher=plain, expert=bare, tools=[atlas]).run("?")
    offered = {one["tags"]["role"]: len(one.get("tools") or ()) for one in script.requests}
    assert (offered["researcher"], offered["expert"]) == (1, 0)
    with pytest.raises(ValidationError) as caught:
        ReviewLoop(script, expert=bare, expert_tools=[atlas])
    assert caught.value.code == "role_tools_invalid"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_function_may_be_the_model_of_an_agent(asynchronous: bool) -> None:
    def sage(request: dict[str, Any]) -> Any:
        assert request["schema"] is not None
        yield '{"reasoning_trace": "", '
        yield '"expert_answer": "Lima"}'
        yield {"usage": {"input_tokens": 5, "output_tokens": 6}}

    async def wise(request: dict[str, Any]) -> Any:
        for piece in sage(request):
            yield piece

    seen: list[Any] = []
    expert = Agent(name="e", model=wise if asynchronous else sage)
    result: ReviewLoopResult = ReviewLoop(model(), expert=expert).run("?", watch=seen.append)
    assert (result.answer, result.state["expert_answer"]) == ("Lima", "Lima")
    assert f"function:{'wise' if asynchronous else 'sage'}" in result.models
    said = [one.data["text"] for one in seen if one.kind == "chunk" and "expert" in one.path]
    assert "".join(said) == '{"reasoning_trace": "", "expert_answer": "Lima"}'


def test_a_function_that_fails_as_a_model_ends_the_question() -> None:
    def sage(request: dict[str, Any]) -> str:
        raise KeyError("no idea")

    result = ReviewLoop(model(), expert=Agent(name="e", model=sage)).run("?")
    assert (result.outcome, result.error_component) == ("error", "expert")
    assert result.error is not None
    assert "in sage" in result.error.details["traceback"]


def test_a_declared_agents_time_out_counts() -> None:
    async def slow(request: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    expert = Agent(name="e", model=slow, timeout=0.05)
    result = ReviewLoop(model(), expert=expert, retry_limit=1).run("?")
    assert isinstance(result.error, RunTimeout)


@dataclass
class City:
    name: str


@dataclass
class Measured:
    """A verdict."""

    feedback: Annotated[str, "what is wrong, in three words"]
    decision: Literal["approve", "reject"]


def test_an_output_says_more_about_the_fields_of_the_role() -> None:
    script = model()
    assert ReviewLoop(script, critic=Agent(name="c", output=Measured)).run("?").answer == "Lima"
    asked = next(one for one in script.requests if one["tags"]["role"] == "critic")
    fields = asked["schema"]["json"]["properties"]
    assert fields["feedback"]["description"] == "what is wrong, in three words"
    assert fields["decision"]["enum"] == ["approve", "reject"]
    short = {"type": "object", "properties": {"result": {"type": "string", "maxLength": 4}}}
    researcher = Agent(name="r", output=short)
    script = model(researcher=[FOUND, {"result": "Lima"}])
    result = ReviewLoop(script, researcher=researcher).run("?")
    assert result.state["research_results"] == ["Lima"]


@pytest.mark.parametrize(
    ("output", "naming"),
    [
        (dict[str, int], "value"),
        (City, "name"),
        ({"type": "object", "properties": {"decision": {"type": "integer"}}}, "integer"),
        ({"type": "object", "properties": {"decision": {"enum": ["perhaps"]}}}, "perhaps"),
    ],
)
def test_an_output_that_does_not_go_with_the_role_is_refused(output: Any, naming: str) -> None:
    with pytest.raises(ValidationError, match=f"critic.*{naming}") as caught:
        ReviewLoop(model(), critic=Agent(name="c", output=output))
    assert caught.value.code == "role_invalid"


def test_an_agents_own_run_is_held_to_its_output() -> None:
    class Critic(Agent):
        output = Measured

        def act(self, state: Any, ctx: AgentContext) -> Any:
            return {"decision": "approve"} if len(state["work"]) > 4 else {"decision": 7}

    result = ReviewLoop(model(), critic=Critic, retry_limit=1).run("?")
    assert result.outcome == "retry_limit"
    assert result.error is not None
    assert "`output` of its agent" in result.error.message


# What is wrong


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"reads": ["feedback"]}, "reads"),
        ({"writes": "verdict"}, "writes"),
        ({"on_error": "record"}, "on_error"),
    ],
)
def test_options_that_a_role_has_no_use_for_are_refused(options: Any, option: str) -> None:
    with pytest.raises(ValidationError, match=f"critic.*{option}") as caught:
        ReviewLoop(model(), critic=Agent(name="c", **options))
    assert caught.value.code == "role_invalid"


def test_instructions_that_are_a_function_are_refused_with_the_way_to_vary_them() -> None:
    with pytest.raises(ValidationError, match=r"in the role `planner`.*: function\n") as caught:
        ReviewLoop(model(), planner=Agent(name="p", instructions=lambda ctx: "Today is Monday."))
    assert caught.value.code == "role_invalid"
    assert "`ctx.model([...])`" in (caught.value.hint or "")

    class Dated(Agent):
        def act(self, brief: Any, ctx: AgentContext) -> Any:
            order = {"role": "system", "content": f"Today is {ctx.context}."}
            return ctx.model([order, {"role": "user", "content": "Plan."}], output=dict)

    planner = scripted([{"json": {"value": PLAN}}])
    loop = ReviewLoop(model(), planner=Dated(model=planner))
    assert loop.run("?", context="Monday").answer == "Lima"
    assert planner.requests[0]["messages"][0]["content"].startswith("Today is Monday.")


def test_an_agent_fills_one_role_and_not_all() -> None:
    everyone: Any = Agent(name="a", model=model())
    with pytest.raises(ValidationError, match="cannot have all roles"):
        ReviewLoop(everyone)


def test_the_code_of_a_role_cannot_have_a_tool_that_waits_for_a_person() -> None:
    @tool(approval=True)
    def pay(euros: int) -> str:
        """Pays."""
        raise AssertionError

    class Paying(Agent):
        tools = (pay,)

        def act(self, state: Any, ctx: AgentContext) -> Any:
            raise AssertionError

    message = "tool `pay` needs approval by a person, for whom the code of the role `researcher`"
    with pytest.raises(ValidationError, match=message) as caught:
        ReviewLoop(model(), researcher=Paying)
    assert caught.value.code == "approval_unavailable"
    assert "give the tool to an agent without `act`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("questions", "code"),
    [("one", "input_invalid"), (["?", " "], "question_blank"), ([3], "input_invalid")],
)
def test_a_batch_is_looked_at_before_anything_is_asked(questions: Any, code: str) -> None:
    script = model()
    with pytest.raises(ValidationError) as caught:
        ReviewLoop(script).batch(questions)
    assert caught.value.code == code
    assert script.requests == []
