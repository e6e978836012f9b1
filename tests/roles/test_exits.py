"""Awaited code that raises an exit: antiphon's event loop goes on, for the next run too."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, server, tool
from antiphon.errors import InternalError
from antiphon.systems import ReviewLoop
from support.http_client import ask
from systems.test_review_loop import FOUND, model

EXITS = pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])


class Answering(Agent):
    """Awaits on antiphon's loop."""

    async def act(self, state: Any, ctx: Any) -> str:
        await asyncio.to_thread(int)
        return "still here"


def fills(kind: type[BaseException]) -> dict[str, Any]:
    """What may fill a role, async and sync; each raises `kind`."""

    async def later(brief: Any) -> str:
        raise kind("fatal")

    def now(brief: Any) -> str:
        raise kind("fatal")

    async def task(brief: Any) -> str:
        return "".join(await asyncio.gather(later(brief)))

    class Leaving(Agent):
        async def act(self, state: Any, ctx: Any) -> str:
            return await later(state)

    team = Orchestrator([Leaving()], name="leaving")
    return {"now": now, "later": later, "task": task, "agent": Leaving, "team": team}


def assert_loop_runs() -> None:
    assert Answering().run("?").answer == "still here"


@EXITS
@pytest.mark.parametrize("filled", ["now", "later", "task", "agent", "team"])
def test_an_exit_in_a_role_ends_the_question_with_an_error(
    filled: str, kind: type[BaseException]
) -> None:
    for _ in range(2):
        result = ReviewLoop(model(), researcher=fills(kind)[filled]).run("?")
        assert result.outcome == "error"
        assert isinstance(result.error, InternalError)
        assert result.error.code == "role_failed"
        assert str(result.error.message) == f"{kind.__name__}: fatal"
        assert type(result.error.__cause__) is kind
    assert_loop_runs()


@EXITS
@pytest.mark.parametrize("filled", ["now", "later", "agent", "team"])
def test_an_exit_in_a_role_leaves_the_callers_loop_alone(
    filled: str, kind: type[BaseException]
) -> None:
    async def both() -> list[str]:
        system = ReviewLoop(model(), researcher=fills(kind)[filled])
        return [(await system.arun("?")).outcome, (await Answering().arun("?")).answer]

    assert asyncio.run(both()) == ["error", "still here"]


@EXITS
def test_a_role_keeps_what_an_exit_was_raised_from(kind: type[BaseException]) -> None:
    async def research(brief: Any) -> str:
        raise kind("fatal") from ValueError("first")

    error = ReviewLoop(model(), researcher=research).run("?").error
    assert error is not None
    assert error.__cause__ is not None
    assert repr(error.__cause__.__cause__) == "ValueError('first')"


@EXITS
def test_an_exit_of_an_async_tool_is_told_to_the_model_of_a_role(
    kind: type[BaseException],
) -> None:
    @tool
    async def leave() -> str:
        """Leave."""
        raise kind("fatal")

    script = model(researcher=[{"tool_calls": [{"name": "leave", "arguments": {}}]}, FOUND])
    assert ReviewLoop(script, tools=[leave]).run("?").outcome == "answered"
    told = [m["content"] for one in script.requests for m in one["messages"] if m["role"] == "tool"]
    assert told == [f"error: {kind.__name__}: fatal"]
    assert_loop_runs()


@EXITS
def test_a_team_raises_the_exit_of_a_task_that_its_agent_started(
    kind: type[BaseException],
) -> None:
    class Leaving(Agent):
        async def act(self, state: Any, ctx: Any) -> Any:
            return await asyncio.gather(leave())

    async def leave() -> str:
        raise kind("fatal")

    with pytest.raises(kind, match="fatal"):
        Leaving().run("?")
    assert_loop_runs()


@EXITS
def test_a_server_outlives_the_exits_of_what_it_serves(kind: type[BaseException]) -> None:
    class Leaving(Agent):
        async def act(self, state: Any, ctx: Any) -> Any:
            return await asyncio.gather(fills(kind)["later"](state))

    for filled in ("later", "team"):
        with server.start(ReviewLoop(model(), researcher=fills(kind)[filled])) as running:
            reply = ask(running.url, "?")
            assert (reply.status, reply.body["outcome"]) == (200, "error")
            assert ask(running.url, "?").status == 200
    with server.start(Leaving()) as running:
        assert [ask(running.url, "?").status for _ in range(2)] == [500, 500]


def test_a_loop_that_was_stopped_goes_on() -> None:
    class Stopping(Agent):
        async def act(self, state: Any, ctx: Any) -> str:
            asyncio.get_running_loop().stop()
            await asyncio.to_thread(int)
            return "stopped"

    assert Stopping().run("?").answer == "stopped"
    assert_loop_runs()


def test_an_exit_in_a_fork_of_an_awaited_role_ends_the_fork() -> None:
    async def research(brief: Any) -> dict[str, Any]:
        child = os.fork()
        if not child:
            raise SystemExit
        return {"result": f"child ended with {os.waitpid(child, 0)[1]}"}  # noqa: ASYNC222 - the child ends at once

    result = ReviewLoop(model(), researcher=research).run("?")
    assert result.state["research_results"] == ["child ended with 0"]
