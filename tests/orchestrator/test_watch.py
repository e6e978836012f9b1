"""A watcher of a run sees its events as they happen, and cannot disturb it."""

from __future__ import annotations

import asyncio
import logging
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Event, Orchestrator, tool
from antiphon.errors import ValidationError
from antiphon.models import scripted

if TYPE_CHECKING:
    from collections.abc import Callable


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def agent(**options: Any) -> Agent:
    call = {"tool_calls": [{"name": "double", "arguments": {"number": 21}}]}
    return Agent(name="a", model=scripted([call, "It is 42."]), tools=[double], **options)


class AskingAgent(Agent):
    """Asks a person."""

    def act(self, state: Any, ctx: AgentContext) -> str:
        del state
        return str(ctx.ask("which one?"))


class NarratingAgent(Agent):
    """Emits something before and after each of two streamed replies."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        del state
        for name in ("one", "two"):
            ctx.emit(None, name)
            # It never waits: all of it reaches the run at once.
            await ctx.amodel("q", model=_pieces)
        ctx.emit(None, "three")
        return "done"


async def _pieces(_: Any) -> Any:
    for text in ("a", "b"):
        yield text


def _is_shown(event: Event) -> bool:
    """Whether the live view has a line for it."""
    return event.level != "debug" and event.kind != "chunk"


async def _from_astream(watched: Agent, watch: Any) -> Any:
    async with watched.astream("q", watch=watch) as stream:
        _ = [event async for event in stream]
    return stream.result


def _from_stream(watched: Agent, watch: Any) -> Any:
    with watched.stream("q", watch=watch) as stream:
        list(stream)
    return stream.result


STARTS: dict[str, Callable[[Agent, Any], Any]] = {
    "run": lambda one, watch: one.run("q", watch=watch),
    "arun": lambda one, watch: asyncio.run(one.arun("q", watch=watch)),
    "stream": _from_stream,
    "astream": lambda one, watch: asyncio.run(_from_astream(one, watch)),
    "batch": lambda one, watch: one.batch(["q"], watch=watch)[0],
    "abatch": lambda one, watch: asyncio.run(one.abatch(["q"], watch=watch))[0],
}


@pytest.mark.parametrize("start", STARTS)
def test_each_start_shows_each_event_once(start: str) -> None:
    seen: list[Event] = []
    result = STARTS[start](agent(), seen.append)
    assert result.answer == "It is 42."
    assert tuple(event for event in seen if event.kind != "chunk") == result.events
    assert "".join(event.text for event in seen) == "It is 42."


@pytest.mark.parametrize("start", STARTS)
def test_events_come_in_the_order_in_which_an_agent_tells_them(start: str) -> None:
    seen: list[Event] = []
    STARTS[start](NarratingAgent(name="a"), seen.append)
    told = [event.text or event.name for event in seen if event.kind in {"custom", "chunk"}]
    assert told == ["one", "a", "b", "two", "a", "b", "three"]


@pytest.mark.parametrize("start", STARTS)
def test_the_live_view_writes_a_line_per_event(
    start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = STARTS[start](agent(), True)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [str(event) for event in result.events if _is_shown(event)]
    assert "  8 a tool_result double: 42" in lines


@pytest.mark.parametrize("start", STARTS)
def test_a_failing_watcher_is_a_warning_and_the_run_continues(start: str) -> None:
    def watch(event: Event) -> None:
        raise LookupError(event.kind)

    with pytest.warns(RuntimeWarning, match=r"(?s)the run continues:.*LookupError") as warned:
        assert STARTS[start](agent(), watch).answer == "It is 42."
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert STARTS[start](agent(), watch).answer == "It is 42."


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("watch", [3, "print", Event])
def test_something_else_is_refused_before_anything_runs(start: str, watch: Any) -> None:
    with pytest.raises(ValidationError, match="`watch` must be a function") as caught:
        STARTS[start](agent(), watch)
    assert (caught.value.code, repr(watch) in caught.value.message) == ("input_invalid", True)


def test_a_coroutine_function_is_refused() -> None:
    async def watch(event: Event) -> None: ...

    with pytest.raises(ValidationError, match="`watch` must be a sync function"):
        agent().run("q", watch=watch)


def test_nobody_watches_if_watch_is_false(capsys: pytest.CaptureFixture[str]) -> None:
    agent().run("q", watch=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("watched", [True, False])
def test_a_resumed_run_shows_its_new_events(watched: bool) -> None:
    team = Orchestrator([AskingAgent(name="a")])
    first: list[Event] = []
    later: list[Event] = []
    paused = team.run("q", watch=first.append if watched else None)
    known = len(paused.events)
    result = team.resume(paused, "that", watch=later.append)
    assert result.answer == "that"
    assert tuple(later) == result.events[known:]
    assert later[-1].kind == "run_finished"


def test_a_resumed_thread_and_recovered_runs_are_watched(tmp_path: Any) -> None:
    team = Orchestrator([AskingAgent(name="a")], checkpointer=f"sqlite:{tmp_path}/t.db")
    team.run("q", thread="t")
    seen: list[Event] = []
    assert team.resume("t", "that", watch=seen.append).answer == "that"
    assert seen[-1].kind == "run_finished"
    assert team.recover(watch=seen.append) == []


def test_a_batch_shows_the_events_of_all_runs_and_names_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    team = Agent(name="a", model=scripted(["one", "two"]))
    results = team.batch(["q", "r"], watch=True, concurrency=1)
    marks = [line[:6] for line in capsys.readouterr().err.splitlines() if "finished comp" in line]
    assert marks[-1] == results[1].run_id[-6:]


def test_loggers_tell_who_does_what(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "antiphon"):
        agent().run("q")
    logged = [(one.name, one.levelname, one.message) for one in caplog.records]
    assert [name for name, _, _ in logged] == [
        "antiphon.run",
        "antiphon.agent.a",
        "antiphon.model",
        "antiphon.tool",
        "antiphon.model",
        "antiphon.agent.a",
        "antiphon.run",
    ]
    assert {level for _, level, _ in logged} == {"INFO"}
    assert ": 42" not in "".join(message for _, _, message in logged), "contents are details"
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "antiphon.tool"):
        agent().run("q")
    assert [one.message for one in caplog.records] == [
        '  7 a tool_call double({"number": 21})',
        "  8 a tool_result double: 42",
    ]


def test_a_result_has_the_same_events_whether_somebody_watches_or_not() -> None:
    kinds = [event.kind for event in agent().run("q").events]
    assert [event.kind for event in agent().run("q", watch=repr).events] == kinds
    with agent().stream("q") as stream:
        seen = [event.kind for event in stream]
    assert [event.kind for event in stream.result.events] == kinds
    assert [kind for kind in seen if kind != "chunk"] == kinds
    assert "chunk" in seen


def test_loggers_are_silent_by_default(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    agent().run("q")
    assert caplog.records == []
    assert capsys.readouterr().err == ""


def test_a_team_within_a_team_logs_its_own_run(caplog: pytest.LogCaptureFixture) -> None:
    team = Orchestrator([Orchestrator([agent()], name="inner")])
    with caplog.at_level(logging.INFO, "antiphon"):
        assert team.run("q").answer == "It is 42."
    names = [one.name for one in caplog.records]
    assert names.count("antiphon.agent.inner") == names.count("antiphon.agent.a") == 2


def test_a_context_reaches_no_line(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    with caplog.at_level(logging.DEBUG, "antiphon"):
        agent().run("q", context={"key": "secret-7"}, watch=seen.append)
    assert "secret-7" not in "".join(map(str, seen)) + caplog.text
