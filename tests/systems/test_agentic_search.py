"""The agentic search from Python."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator, RetryPolicy, Tool, ToolContext
from antiphon.budget import Budget
from antiphon.errors import AntiphonError, StateError, ValidationError
from antiphon.models import scripted
from antiphon.systems import AgenticSearch, AgenticSearchResult, ReviewLoop

if TYPE_CHECKING:
    from pathlib import Path


def stories(query: str, size: int = 5) -> dict[str, Any]:
    """Search the stories."""
    hits = [{"title": "Upstream", "url": "https://a.example/1", "text": f"{query}: 12 of {size}"}]
    return {"results": hits, "total": 12}


def broken(query: str) -> str:
    """Search the archive."""
    raise RuntimeError(f"the archive is closed: {query}")


def task(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_name": tool, "tool_arguments": arguments}


def plan(*tasks: dict[str, Any]) -> dict[str, Any]:
    return {"json": {"reasoning": "look it up", "tasks": list(tasks)}}


def words(html: str, *sources: int) -> dict[str, Any]:
    return {"json": {"reasoning": "found", "response_content": html, "sources": list(sources)}}


def answered(*, tools: Any = (stories,), **options: Any) -> AgenticSearchResult:
    model = scripted([plan(task("stories", query="upstream")), words("<p><b>12</b>.</p>", 1)])
    return AgenticSearch(model, tools=tools, **options).run("How many?")


def test_a_result_has_the_answer_its_sources_and_the_tasks() -> None:
    result = answered()
    assert (result.outcome, result.search_outcome) == ("answered", "answered")
    assert (result.answer, result.html) == ("**12**.", "<p><b>12</b>.</p>")
    assert (result.usage.model_calls, result.usage.tool_calls) == (2, 1)
    (source,) = result.sources
    assert (source.title, source.location) == ("Upstream", "https://a.example/1")
    assert source.excerpt == "upstream: 12 of 5"
    assert result.execution_plan is not None
    (made,) = result.execution_plan.tasks
    assert (made.status, made.tool_arguments) == ("completed", {"query": "upstream", "size": 5})
    assert isinstance(made.finished_at, datetime)
    assert result.gathered_information.sources_used == ("stories",)
    assert result.thinking_steps[0] == "Question: How many?"
    assert not result.is_followup
    written = json.loads(result.to_json())
    assert written["execution_plan"]["tasks"][0]["finished_at"] == made.finished_at.isoformat()
    assert written["answer"] == "**12**."
    assert written["sources"][0]["number"] == 1
    assert "1 sources" in result._repr_mimebundle_()["text/html"]


def test_a_task_that_fails_is_part_of_the_result() -> None:
    model = scripted(
        [plan(task("broken", query="x"), task("stories", query="y")), words("<p>a</p>")]
    )
    result = AgenticSearch(model, tools=[stories, broken]).run("How many?")
    assert result.search_outcome == "answered_partial"
    (lost,) = result.gathered_information.failed
    assert lost.error is not None
    assert lost.error.type == "ToolError"
    assert "the archive is closed: x" in lost.error.message


def test_a_tool_that_asks_a_person_fails_its_task_alone() -> None:
    def asking(query: str, call: ToolContext[None]) -> str:
        """Ask which one is meant."""
        return str(call.ask(f"Which {query}?"))

    model = scripted(
        [plan(task("asking", query="x"), task("stories", query="y")), words("<p>a</p>")]
    )
    result = AgenticSearch(model, tools=[stories, asking]).run("How many?")
    assert (result.outcome, result.search_outcome) == ("answered", "answered_partial")
    (lost,) = result.gathered_information.failed
    assert lost.error is not None
    assert "cannot ask a person" in lost.error.message


def test_a_fault_that_ends_a_question_is_its_error_message(tmp_path: Path) -> None:
    runs = tmp_path / "runs.db"

    def dropping(query: str) -> str:
        """Lose the store."""
        with closing(sqlite3.connect(runs)) as connection, connection:
            connection.execute("DROP TABLE entry")
        return query

    model = scripted([plan(task("dropping", query="x")), words("<p>a</p>")])
    search = AgenticSearch(
        model, tools=[dropping], checkpointer=f"sqlite:{runs}", durability="sync"
    )
    result = search.run("How many?")
    assert (result.outcome, result.search_outcome) == ("error", "error")
    assert result.error is not None
    assert result.error_message == result.error.message


def test_words_that_no_result_supports_are_no_answer() -> None:
    model = scripted([plan(task("broken", query="x")), words("<p>12.</p>")])
    result = AgenticSearch(model, tools=[broken]).run("How many?")
    assert (result.usage.model_calls, result.answer) == (2, None)
    assert result.error_message == result.reason == "all tasks have failed"
    with pytest.raises(AntiphonError, match="all tasks have failed"):
        result.raise_for_outcome()
    assert result.html.endswith("<p>12.</p>")


def test_without_an_answer_the_html_tells_what_was_found() -> None:
    model = scripted([plan(task("stories", query="upstream")), ""])
    result = AgenticSearch(model, tools=[stories]).run("How <many>?")
    assert (result.outcome, result.answer) == ("no_answer", None)
    assert result.search_outcome == "fallback_html"
    assert "How &lt;many&gt;?" in result.html
    assert "12 of 5" in result.html
    with pytest.raises(AntiphonError, match="could not be put into an answer"):
        result.raise_for_outcome()


def test_no_tool_is_no_answer() -> None:
    result = AgenticSearch(scripted([])).run("How many?")
    assert (result.outcome, result.search_outcome) == ("no_answer", "no_tools")
    assert result.reason == "no tool was given"
    named = AgenticSearch(scripted([]), tools=[stories]).run("How many?", enabled_tools=["x"])
    assert named.reason == "none of the enabled tools exists: x"


def test_a_thread_is_a_conversation() -> None:
    model = scripted(
        [
            plan(task("stories", query="upstream")),
            words("<p>12.</p>"),
            plan(),
            words("<p>As I said: 12.</p>"),
        ]
    )
    search = AgenticSearch(model, tools=[stories], checkpointer="memory:")
    search.run("How many?", thread="session")
    second = search.run("How many again?", thread="session")
    assert second.is_followup
    assert second.answer == "As I said: 12."
    assert "answer: 12." in model.requests[2]["messages"][-1]["content"]
    history = search.state("session").state["conversation_history"]
    assert [turn["response"] for turn in history] == ["12.", "As I said: 12."]
    assert not search.run("Alone?", thread="another").is_followup


def test_roles_are_functions_agents_and_models() -> None:
    seen: list[dict[str, Any]] = []

    def planner(brief: dict[str, Any]) -> dict[str, Any]:
        seen.append(brief)
        return {"tasks": [task("stories", query=brief["question"])]}

    def synthesiser(brief: dict[str, Any]) -> dict[str, Any]:
        seen.append(brief)
        return {"response_content": f"**{len(brief['results'])}** results"}

    result = AgenticSearch(planner=planner, synthesiser=synthesiser, tools=[stories]).run("Many?")
    assert result.answer == "**1** results"
    assert seen[0]["tools"][0]["name"] == "stories"
    assert seen[0]["schema"]["required"] == ["tasks"]
    assert seen[1]["results"][0]["text"] == "Many?: 12 of 5"
    agent = Agent(name="words", model=scripted([words("<p>a</p>")]), instructions="Be kind.")
    assert AgenticSearch(planner=planner, synthesiser=agent, tools=[stories]).run("q").answer == "a"
    looping = Agent(name="loop", model=scripted([]), tools=[stories])
    with pytest.raises(ValidationError, match="more than one request as the planner") as caught:
        AgenticSearch(scripted([]), planner=looping, tools=[stories])
    assert caught.value.code == "role_tools_invalid"


@pytest.mark.parametrize("role", ["planner", "synthesiser"])
def test_a_team_and_a_system_are_refused_because_there_are_two_requests(role: str) -> None:
    """AS-32 of `docs/systems/agentic-search.md`."""
    members = [Agent(name=name, model=scripted([])) for name in ("one", "two")]
    for given in (Orchestrator(members), ReviewLoop(scripted([]))):
        roles: dict[str, Any] = {role: given}
        with pytest.raises(ValidationError, match=f"more than one request as the {role}") as caught:
            AgenticSearch(scripted([]), tools=[stories], **roles)
        assert (caught.value.code, caught.value.details) == ("role_invalid", {"role": role})


@pytest.mark.parametrize("role", ["planner", "synthesiser"])
def test_an_agent_that_is_tried_again_is_refused_because_there_are_two_requests(role: str) -> None:
    """AS-32 of `docs/systems/agentic-search.md`."""
    for retry in (3, RetryPolicy(max_attempts=2)):
        given: dict[str, Any] = {
            role: Agent(name="again", model=scripted([]), retry=retry),
        }
        with pytest.raises(ValidationError, match=f"more than one request as the {role}") as caught:
            AgenticSearch(scripted([]), tools=[stories], **given)
        assert caught.value.code == "role_invalid"
        assert "max_attempts" in str(caught.value)
    once = Agent(name="once", model=scripted([]))
    search = AgenticSearch(scripted([words("<p>12</p>")]), planner=once, tools=[stories])
    result = search.run("Many?")
    assert (result.usage.model_calls, result.answer) == (2, "12"), (
        "its failure is the fallback plan"
    )


def test_a_question_that_is_out_of_time_or_calls_at_the_answer_says_so() -> None:
    async def never(brief: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return brief

    planned = plan(task("stories", query="a"))
    late = AgenticSearch(
        scripted([planned]), synthesiser=never, tools=[stories], question_timeout_s=0.3
    )
    asked = scripted([planned, words("<p>12</p>")])
    limited = AgenticSearch(asked, tools=[stories], budget=Budget(model_calls=1))
    for search in (late, limited):
        result = search.run("Many?")
        assert (result.outcome, result.search_outcome) == ("budget", "fallback_html")
        assert result.error is not None
        assert result.error.code == "budget_exhausted"
        assert "12 of 5" in result.html
    assert len(asked.requests) == 1


def test_tools_reach_the_context_of_the_run() -> None:
    def secret(query: str, ctx: ToolContext[str]) -> str:
        """Look behind the curtain."""
        return f"{ctx.context} {query}"

    model = scripted([plan(task("secret", query="x")), words("<p>a</p>")])
    result = AgenticSearch(model, tools=[secret]).run("What?", context="ada")
    assert result.gathered_information.task_results[0].result == "ada x"


def test_a_call_waits_for_a_person_and_goes_on_with_the_answer() -> None:
    calls: list[str] = []
    search = paying(calls, checkpointer="memory:")
    paused = search.run("Buy tea.", thread="t")
    assert (paused.outcome, paused.questions[0].value["tool"], calls) == ("paused", "pay", [])
    result = search.resume("t", True)
    assert (result.answer, calls) == ("Bought.", ["tea"])


APPROVE = """
import sys
from antiphon import Tool
from antiphon.models import scripted
from antiphon.systems import AgenticSearch

def pay(query: str) -> str:
    "Buy it."
    print("paid for", query)
    return "bought"

answer = scripted([{"json": {"response_content": "<p>Bought.</p>"}}])
search = AgenticSearch(answer, tools=[Tool(pay, approval=True)], checkpointer=sys.argv[1])
print(search.resume("t", {"approve": True, "args": {"query": "less tea"}}).answer)
"""


def test_another_process_goes_on_with_the_approval_of_a_person(tmp_path: Path) -> None:
    calls: list[str] = []
    store = f"sqlite:{tmp_path / 'runs.db'}"
    paused = paying(calls, checkpointer=store).run("Buy tea.", thread="t")
    assert (paused.outcome, calls) == ("paused", [])
    command = [sys.executable, "-c", APPROVE, store]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["paid for less tea", "Bought."], done.stderr


def paying(calls: list[str], **options: Any) -> AgenticSearch:
    def pay(query: str) -> str:
        """Buy it."""
        calls.append(query)
        return "bought"

    model = scripted([plan(task("pay", query="tea")), words("<p>Bought.</p>")])
    return AgenticSearch(model, tools=[Tool(pay, approval=True)], **options)


def test_a_thread_that_waits_for_approval_takes_no_other_question() -> None:
    calls: list[str] = []
    search = paying(calls, checkpointer="memory:")
    search.run("Buy tea.", thread="t")
    with pytest.raises(StateError) as caught:
        search.run("And coffee?", thread="t")
    assert caught.value.code == "thread_paused"
    assert str(caught.value) == (
        'the thread `t` is waiting for an answer to: may `pay` be called with {"query":"tea"}?\n'
        'hint: answer it with `resume("t", answer)`, or ask in another thread'
    )
    (question,) = search.state("t").questions
    assert caught.value.details["questions"] == [question.id]
    assert (search.resume("t", True).answer, calls) == ("Bought.", ["tea"])


@pytest.mark.parametrize("kept", [True, False])
def test_none_does_not_decide_about_a_call(*, kept: bool) -> None:
    calls: list[str] = []
    search = paying(calls, **({"checkpointer": "memory:"} if kept else {}))
    paused = search.run("Buy tea.")
    with pytest.raises(ValidationError, match="neither approves nor rejects") as caught:
        search.resume(paused, None)
    assert caught.value.code == "approval_invalid"
    assert (search.resume(paused, True).answer, calls) == ("Bought.", ["tea"])


def test_it_streams_and_awaits() -> None:
    def search() -> AgenticSearch:
        model = scripted([plan(task("stories", query="upstream")), words("<p>12.</p>")])
        return AgenticSearch(model, tools=[stories])

    with search().stream("How many?") as stream:
        names = [event.name for event in stream if event.kind == "custom"]
    assert names[:3] == ["session_started", "tools_discovered", "plan_created"]
    assert stream.result.answer == "12."
    assert asyncio.run(search().arun("How many?")).answer == "12."


def test_wrong_arguments_are_refused() -> None:
    search = AgenticSearch(scripted([]), tools=[stories])
    with pytest.raises(ValidationError, match="must be a list of names: stories"):
        search.run("q", enabled_tools="stories")
    with pytest.raises(ValidationError, match="two tools have the same name: stories"):
        AgenticSearch(scripted([]), tools=[stories, stories])
    with pytest.raises(ValidationError, match="unknown setting of the agentic search: max_task"):
        AgenticSearch(scripted([]), max_task=1)  # type: ignore[call-arg]


def test_a_model_that_is_down_is_asked_twice_and_the_results_are_listed() -> None:
    fault = {"category": "model_transport", "code": "model_unreachable", "message": "it is down"}
    model = scripted([{"fault": fault}, {"fault": fault}])
    result = AgenticSearch(model, tools=[stories]).run("upstream")
    assert len(model.requests) == 2
    assert result.search_outcome == "fallback_html"
    assert "upstream: 12 of 10" in result.html
