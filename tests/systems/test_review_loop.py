"""The review loop as Python sees it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import pickle
import threading
from typing import Any

import pytest

from antiphon import Event
from antiphon.errors import BudgetError, InternalError, StateError, ValidationError
from antiphon.models import Model
from antiphon.systems import ReviewLoop, ReviewLoopResult
from antiphon.tools import ToolCall, ToolContext, tool

APPROVE = {"decision": "approve"}
PLAN = {"research_steps": ["look it up"], "expert_steps": ["say it"]}
FOUND = {"result": "Lima, says the atlas"}
SOLVED = {"reasoning_trace": "the atlas says so", "expert_answer": "Lima"}
WORDED = {"final_reasoning_trace": "the atlas says so", "final_answer": "Lima"}

UNANSWERABLE = [
    "What did I have for breakfast?",
    "Who won the football World Cup of 2062?",
    "How old is the present king of France?",
    "What number am I thinking of?",
]


def model(**replies: list[Any]) -> Model:
    """Answers as every role once, as the critic three times; `replies` by role replace that."""
    script: dict[str, list[Any]] = {
        "planner": [PLAN],
        "critic": [APPROVE] * 3,
        "researcher": [FOUND],
        "expert": [SOLVED],
        "finalizer": [WORDED],
    }
    branches = [
        ("role", role, [reply if "tool_calls" in reply else {"json": reply} for reply in given])
        for role, given in {**script, **replies}.items()
    ]
    return Model.scripted([], branches=branches)


def names(result: ReviewLoopResult) -> list[str]:
    return [event.name for event in result.events if event.kind == "custom"]


def test_a_review_loop_answers_a_question() -> None:
    result = ReviewLoop(model()).run("What is the capital of Peru?")
    assert (result.answer, result.outcome, result.retry_count) == ("Lima", "answered", 0)
    assert result.final_reasoning_trace == "the atlas says so"
    assert result.state["research_results"] == ["Lima, says the atlas"]
    assert result.models == ("test:scripted",)
    assert names(result).count("verdict") == 3
    assert result.raise_for_outcome() is result


def test_a_result_is_json_html_text_and_can_be_pickled() -> None:
    evil = {**SOLVED, "expert_answer": "<script>alert(1)</script>"}
    result = ReviewLoop(model(expert=[evil])).run("?")
    fields = json.loads(result.to_json())
    assert fields["final_answer"] == evil["expert_answer"]
    assert "events" not in fields
    assert len(result.to_dict(events=True)["events"]) == len(result.events)
    shown = result._repr_mimebundle_()
    assert "<script>" not in shown["text/html"]
    assert "&lt;script&gt;" in shown["text/html"]
    assert shown["text/plain"].startswith("review loop: answered")
    assert pickle.loads(pickle.dumps(result)).answer == result.answer


def test_that_a_small_model_answered_is_said_wherever_the_answer_is() -> None:
    result = dataclasses.replace(
        ReviewLoop(model()).run("?"), models=("llamacpp:qwen2.5-coder:0.5b",)
    )
    assert result.caveat is not None
    assert "qwen2.5-coder:0.5b: a small model" in result.caveat
    assert json.loads(result.to_json())["caveat"] == result.caveat
    shown = result._repr_mimebundle_()
    assert result.caveat in shown["text/plain"]
    assert "a small model" in shown["text/html"]
    assert dataclasses.replace(result, models=("openai:gpt-5-mini",)).caveat is None


def test_a_question_that_is_given_up_raises_on_request() -> None:
    reject = {"decision": "reject", "feedback": "too vague"}
    loop = ReviewLoop(model(planner=[PLAN] * 2, critic=[reject] * 2), retry_limit=2)
    result = loop.run("?")
    assert (result.outcome, result.error_component) == ("retry_limit", "planner")
    assert result.retries_by_agent["planner"] == 2
    with pytest.raises(BudgetError) as caught:
        result.raise_for_outcome()
    assert caught.value.code == "run_limit_reached"
    assert caught.value.details["outcome"] == "retry_limit"
    assert "at the step `planner`" in str(caught.value)


def test_a_function_fills_a_role_and_gets_the_brief() -> None:
    briefs: list[dict[str, Any]] = []

    def critic(brief: dict[str, Any]) -> dict[str, str]:
        briefs.append(brief)
        return APPROVE

    async def expert(brief: dict[str, Any]) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"expert_answer": brief["research_results"][0], "reasoning_trace": ""}

    result = ReviewLoop(model(), critic=critic, expert=expert).run("What is it?")
    assert result.outcome == "answered"
    assert result.state["expert_answer"] == "Lima, says the atlas"
    assert [brief["step"] for brief in briefs] == [
        "critic_planner",
        "critic_researcher",
        "critic_expert",
    ]
    assert briefs[0]["question"] == "What is it?"


def test_a_function_that_fails_ends_the_question() -> None:
    def planner(brief: dict[str, Any]) -> None:
        raise RuntimeError("no plan")

    result = ReviewLoop(model(), planner=planner).run("?")
    assert (result.outcome, result.error_component) == ("error", "planner")
    with pytest.raises(InternalError, match="RuntimeError: no plan") as caught:
        result.raise_for_outcome()
    assert caught.value.code == "role_failed"


def test_a_critic_sends_a_rejected_answer_back_to_the_planner_if_that_is_asked_for() -> None:
    def critic(brief: dict[str, Any]) -> dict[str, Any]:
        if brief["step"] == "critic_expert" and brief["attempt"] == 1:
            return {"decision": "reject", "feedback": "no source", "needs_research": True}
        return APPROVE

    def atlas(country: str) -> str:
        """Looks a country up."""
        return country

    def solve(**settings: Any) -> tuple[list[str], ReviewLoopResult]:
        briefs: list[str] = []

        def planner(brief: dict[str, Any]) -> dict[str, Any]:
            briefs.append(brief["instruction"])
            return PLAN

        loop = ReviewLoop(
            model(researcher=[FOUND] * 2, expert=[SOLVED] * 2),
            planner=planner,
            critic=critic,
            research_tools=[atlas],
            **settings,
        )
        result = loop.run("Capital of Peru?")
        drawn = [edge.label for edge in loop.graph.edges]
        assert ("needs_research" in drawn) == bool(settings)
        return briefs, result

    briefs, result = solve(escalate_to_planner=True)
    assert (result.outcome, briefs[1:]) == ("answered", ["no source"])
    assert result.retries_by_agent == {"planner": 0, "researcher": 0, "expert": 1}
    briefs, result = solve()
    assert (result.outcome, len(briefs)) == ("answered", 1)
    with pytest.raises(ValidationError, match="`escalate_to_planner` must be true or false"):
        ReviewLoop(model(), escalate_to_planner="yes")  # type: ignore[arg-type]


def test_researcher_and_expert_use_tools() -> None:
    asked: list[str] = []

    @tool(side_effect="read", cache=False)
    async def atlas(country: str) -> dict[str, str]:
        """Looks a country up."""
        asked.append(country)
        return {"capital": "Lima"}

    call = {"tool_calls": [{"name": "atlas", "arguments": {"country": "Peru"}}]}
    script = model(researcher=[call, FOUND], expert=[call, SOLVED])
    result = ReviewLoop(script, tools=[atlas]).run("Capital of Peru?")
    assert (result.outcome, asked) == ("answered", ["Peru", "Peru"])
    answers = [
        message["content"]
        for request in script.requests
        for message in request["messages"]
        if message["role"] == "tool"
    ]
    assert all('"capital":"Lima"' in answer.replace(" ", "") for answer in answers)


def test_tools_can_be_for_one_of_them() -> None:
    def atlas(country: str) -> str:
        """Looks a country up."""
        return country

    script = model()
    ReviewLoop(script, research_tools=[atlas]).run("?")
    offered = {request["tags"]["role"]: request.get("tools") for request in script.requests}
    assert [spec["name"] for spec in offered["researcher"] or ()] == ["atlas"]
    assert not offered["expert"]


def test_a_watcher_sees_the_events_as_they_come() -> None:
    seen = []
    threads = set()

    def watch(event: Any) -> None:
        seen.append(event)
        threads.add(threading.get_ident())

    result = ReviewLoop(model()).run("?", watch=watch)
    assert threads == {threading.get_ident()}
    assert [event.seq for event in seen if event.kind != "chunk"] == [
        event.seq for event in result.events
    ]


def test_what_a_watcher_raises_is_a_warning_and_the_question_continues() -> None:
    def watch(event: Any) -> None:
        raise KeyError("enough")

    with pytest.warns(RuntimeWarning, match="enough"):
        assert ReviewLoop(model()).run("?", watch=watch).answer == "Lima"


def test_streams_batches_and_loggers_watch_a_system(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    with ReviewLoop(model()).stream("?", watch=seen.append) as stream:
        assert [event.seq for event in stream] == [event.seq for event in seen]
    seen.clear()
    results = ReviewLoop(model()).batch(["?"], watch=seen.append)
    assert {event.run_id for event in seen} == {result.run_id for result in results}
    with caplog.at_level(logging.INFO, "antiphon"):
        ReviewLoop(model()).batch(["?"])
    ended = [one.message for one in caplog.records if "run_finished" in one.message]
    assert len(ended) == 1, "once, not once for each layer"
    with pytest.raises(ValidationError, match="`watch` must be a function"):
        ReviewLoop(model()).stream("?", watch=3)  # type: ignore[arg-type]


def test_a_stream_gives_events_and_then_the_result() -> None:
    with ReviewLoop(model()).stream("?") as stream:
        first = next(stream)
        with pytest.raises(StateError, match="no result yet"):
            _ = stream.result
        rest = list(stream)
    assert first.seq == 1
    assert rest[-1].kind == "run_finished"
    assert stream.result.answer == "Lima"


def test_a_stream_that_is_closed_gives_no_more() -> None:
    with ReviewLoop(model()).stream("?") as stream:
        next(stream)
    assert list(stream) == []
    # It may have come to its end before it was cancelled.
    assert stream.result.outcome in {"cancelled", "answered"}


def test_a_stream_that_is_thrown_away_stops_the_question() -> None:
    started, go_on = threading.Event(), threading.Event()
    asked: list[str] = []

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        started.set()
        go_on.wait(20)
        return PLAN

    def expert(brief: dict[str, Any]) -> dict[str, str]:
        asked.append(brief["step"])
        return SOLVED

    others = set(threading.enumerate())
    stream = ReviewLoop(model(), planner=planner, expert=expert).stream("?")
    (thread,) = (new for new in threading.enumerate() if new not in others and "str" in new.name)
    next(stream)
    assert started.wait(20)
    del stream
    go_on.set()
    thread.join(20)
    assert not asked


def test_a_stream_raises_what_is_wrong_with_the_question() -> None:
    with pytest.raises(ValidationError, match="question"):
        list(ReviewLoop(model()).stream(" "))


def test_questions_can_be_awaited_side_by_side() -> None:
    script = model(
        planner=[PLAN] * 3,
        critic=[APPROVE] * 9,
        researcher=[FOUND] * 3,
        expert=[SOLVED] * 3,
        finalizer=[WORDED] * 3,
    )
    loop = ReviewLoop(script)

    async def ask() -> list[ReviewLoopResult]:
        return await asyncio.gather(*(loop.arun(f"question {n}") for n in range(3)))

    results = asyncio.run(ask())
    assert [result.answer for result in results] == ["Lima"] * 3
    assert len({result.run_id for result in results}) == 3


def test_cancelling_the_task_stops_the_question() -> None:
    started = threading.Event()
    left = threading.Event()

    async def expert(brief: dict[str, Any]) -> None:
        started.set()
        await asyncio.to_thread(left.wait, 30)

    async def ask() -> None:
        task = asyncio.ensure_future(ReviewLoop(model(), expert=expert).arun("?"))
        await asyncio.to_thread(started.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left.set()  # only now: the thread holds up neither the task nor the end of the loop

    asyncio.run(ask())


def test_a_sync_call_works_within_a_running_loop() -> None:
    async def expert(brief: dict[str, Any]) -> dict[str, str]:
        return SOLVED

    async def cell() -> str | None:
        return ReviewLoop(model(), expert=expert).run("?").answer

    assert asyncio.run(cell()) == "Lima"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"retries": 3}, "system_setting_invalid"),
        ({"retry_limit": 0}, "system_setting_invalid"),
        ({"planner": 7}, "role_invalid"),
        ({"planner": "nobody:x"}, "model_provider_unknown"),
        ({"expert": lambda brief: SOLVED, "expert_tools": [print]}, "tool_parameter"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_made(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ReviewLoop(model(), **options)
    assert caught.value.code == code


def test_settings_are_checked_before_a_model_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTIPHON_MODEL", "nobody:x")
    with pytest.raises(ValidationError, match="retries"):
        ReviewLoop(retries=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="nobody"):
        ReviewLoop()


@pytest.mark.parametrize("question", ["", " \n"])
def test_a_blank_question_is_refused(question: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ReviewLoop(model()).run(question)
    assert caught.value.code == "question_blank"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (b"bytes", "text, or a list of messages: bytes"),
        (None, "text, or a list of messages: NoneType"),
        ({"question": "q"}, "text, or a list of messages: dict"),
        ("caf\udcc3", "an unpaired surrogate"),
        ([object()], "no JSON"),
        ([{"content": 3}], "one message of text"),
    ],
)
def test_a_question_of_another_kind_is_refused_before_a_model_is_asked(
    question: Any, message: str
) -> None:
    script = model()
    with pytest.raises(ValidationError, match=message) as caught:
        ReviewLoop(script).run(question)
    assert caught.value.code == "question_malformed"
    assert not script.requests


def test_a_file_is_given_as_name_and_bytes() -> None:
    script = model()
    ReviewLoop(script).run("?", file=("atlas.txt", b"Peru: Lima"))
    assert "Peru: Lima" in script.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize("shared", [True, False])
def test_a_tool_that_researcher_and_expert_share_looks_things_up_once(shared: bool) -> None:
    asked: list[str] = []

    @tool(side_effect="read")
    def search(query: str) -> str:
        """Searches."""
        asked.append(query)
        return "Lima"

    call = {"tool_calls": [{"name": "search", "arguments": {"query": "Peru"}}]}
    lines = model(researcher=[call, FOUND], expert=[call, SOLVED])
    given: dict[str, Any] = {"research_tools": [search], "expert_tools": [search]}
    result = ReviewLoop(lines, **({"tools": [search]} if shared else given)).run("?")
    assert result.outcome == "answered"
    assert len(asked) == (1 if shared else 2)
    assert names(result).count("tool_result_reused") == (1 if shared else 0)


def test_a_tool_with_cache_off_is_always_called() -> None:
    asked: list[str] = []

    @tool(side_effect="read", cache=False)
    def search(query: str) -> str:
        """Searches."""
        asked.append(query)
        return "Lima"

    call = {"tool_calls": [{"name": "search", "arguments": {"query": "Peru"}}]}
    ReviewLoop(model(researcher=[call, call, FOUND]), tools=[search]).run("?")
    assert len(asked) == 2


def test_a_function_approves_of_the_calls_of_a_tool() -> None:
    asked: list[str] = []

    async def known(call: ToolCall) -> bool | str:
        return call.arguments["country"] == "Peru" or "only Peru"

    @tool(approval=known, max_calls=1)
    def atlas(country: str) -> str:
        """Looks a country up."""
        asked.append(country)
        return "Lima"

    calls = [
        {"tool_calls": [{"name": "atlas", "arguments": {"country": country}}]}
        for country in ("Chile", "Peru")
    ]
    script = model(researcher=[*calls, FOUND])
    assert ReviewLoop(script, tools=[atlas]).run("?").outcome == "answered"
    assert asked == ["Peru"]
    read = [
        message["content"]
        for request in script.requests
        for message in request["messages"]
        if message["role"] == "tool"
    ]
    assert "only Peru" in read[0]


def test_a_function_that_decides_and_the_tool_know_a_call_by_the_models_id() -> None:
    seen: list[tuple[str, str]] = []

    def known(call: ToolCall) -> bool:
        seen.append(("asked", call.call_id))
        return True

    @tool(approval=known)
    def atlas(country: str, call: ToolContext) -> str:
        """Looks a country up."""
        seen.append(("called", call.call_id))
        return "Lima"

    call = {"id": "c7", "name": "atlas", "arguments": {"country": "Peru"}}
    ReviewLoop(model(researcher=[{"tool_calls": [call]}, FOUND]), tools=[atlas]).run("?")
    assert seen == [("asked", "c7"), ("called", "c7")]


def test_a_function_that_cannot_decide_fails_the_role_and_nothing_is_called() -> None:
    def broken(call: ToolCall) -> bool:
        raise LookupError(call.name)

    @tool(approval=broken)
    def atlas(country: str) -> str:
        """Looks a country up."""
        raise AssertionError(country)

    call = {"tool_calls": [{"name": "atlas", "arguments": {"country": "Peru"}}]}
    result = ReviewLoop(model(researcher=[call, FOUND]), tools=[atlas]).run("?")
    # The system asks the role again.
    assert (result.outcome, result.retry_count) == ("answered", 1)
    assert "approval_failed" in [event.data.get("code") for event in result.events]


def test_what_nobody_can_know_is_no_answer_and_says_why() -> None:
    why = "Only the person who asks knows what they ate."
    unknown = {"research_steps": [], "expert_steps": [why], "known": False}
    result = ReviewLoop(model(planner=[unknown], critic=[APPROVE])).run("What did I eat?")
    assert (result.outcome, result.reason) == ("no_answer", why)
    assert result.answer is None
    assert result.final_answer == "The question could not be answered."
    fields = json.loads(result.to_json())
    assert (fields["outcome"], fields["reason"]) == ("no_answer", why)
    assert result.record()["reason"] == why
    shown = result._repr_mimebundle_()
    assert why in shown["text/plain"]
    assert why in shown["text/html"]
    with pytest.raises(StateError, match="ended without an answer: Only the person") as caught:
        result.raise_for_outcome()
    assert caught.value.code == "run_unanswered"


@pytest.mark.parametrize("question", UNANSWERABLE)
def test_a_guess_at_what_nobody_can_know_is_not_approved(question: str) -> None:
    why = "There is no source for it."
    guess = {"reasoning_trace": "likely", "expert_answer": "eggs"}
    plan = {"research_steps": [], "expert_steps": ["guess"]}
    critic = [APPROVE, {"decision": "not_known", "feedback": why}]
    result = ReviewLoop(model(planner=[plan], critic=critic, expert=[guess])).run(question)
    assert (result.outcome, result.reason) == ("no_answer", why)
    expert = {"reasoning_trace": "", "expert_answer": why, "known": False}
    critic = [APPROVE, APPROVE]
    result = ReviewLoop(model(planner=[plan], critic=critic, expert=[expert])).run(question)
    assert (result.outcome, result.reason) == ("no_answer", why)


def test_a_short_form_that_changes_a_number_is_refused() -> None:
    solved = {"reasoning_trace": "17 + 25", "expert_answer": "The sum is 42."}
    worded = {"final_reasoning_trace": "", "final_answer": "43"}
    roles = model(expert=[solved], finalizer=[worded])
    result = ReviewLoop(roles, answer_format="short").run("17 plus 25?")
    assert result.answer == "The sum is 42."
    assert "final_answer_refused" in names(result)


def test_a_finalizer_that_is_given_is_asked_for_a_plain_answer_too() -> None:
    def finish(brief: dict[str, Any]) -> dict[str, str]:
        return {"final_answer": brief["expert_answer"].upper(), "final_reasoning_trace": ""}

    assert ReviewLoop(model(), finalizer=finish).run("?").answer == "LIMA"


def test_a_function_as_critic_sees_the_work_alone_if_asked_to() -> None:
    briefs: list[dict[str, Any]] = []

    def critic(brief: dict[str, Any]) -> dict[str, Any]:
        briefs.append(brief)
        return {"decision": "approve", "feedback": None}

    ReviewLoop(model(), critic=critic, critic_context="minimal").run("What is it?")
    assert [brief["question"] for brief in briefs] == ["", "", ""]
    assert briefs[1]["research_results"] == ["Lima, says the atlas"]
    assert briefs[2]["expert_answer"] == "Lima"
    assert briefs[2]["research_results"] == []


@pytest.mark.parametrize("file", [("a", "str"), ("a",), 5, ()])
def test_a_file_of_another_form_is_refused_by_what_it_is(file: Any) -> None:
    with pytest.raises(
        ValidationError, match="a file must be a path, or a name and bytes"
    ) as caught:
        ReviewLoop(model()).run("?", file=file)
    assert caught.value.code == "attachment_unreadable"
