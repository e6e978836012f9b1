"""Sync tools that never return: the caller goes on without them, and the process ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator, tool
from antiphon.errors import RunTimeout, ToolError
from antiphon.models import scripted
from antiphon.tools import CircuitBreaker
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon import AgentContext, Result

CALL = {"tool_calls": [{"name": "stuck", "arguments": {}}]}


class Stuck:
    """A tool that blocks its thread until the test is over."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.calls = 0

    def make(self, **options: Any) -> Any:
        @tool(name="stuck", side_effect="read", **options)
        def stuck() -> str:
            """Never answers."""
            self.calls += 1
            self.released.wait(60)
            return "late"

        return stuck


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.released.set()


def ask(made: Any, *replies: Any) -> tuple[Result[Any, Any], list[str]]:
    model = scripted([*replies, "Done."])
    result = Orchestrator([Agent(name="clerk", model=model, tools=[made])]).run("?")
    read = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    return result, read


def test_the_agent_goes_on_and_the_thread_is_counted_and_reported(
    stuck: Stuck, caplog: pytest.LogCaptureFixture
) -> None:
    result, read = ask(stuck.make(timeout=0.02), CALL)
    assert (result.answer, stuck.calls) == ("Done.", 1)
    assert read == ["error: tool `stuck` exceeded its time-out in seconds: 0.02"]
    [told] = [event for event in result.events if event.name == "thread_abandoned"]
    assert told.data["threads"] >= 1
    assert "still runs on a thread" in caplog.text


def test_abandoned_threads_leave_room_for_others(stuck: Stuck) -> None:
    @tool(side_effect="read", timeout=30)
    def quick() -> str:
        """Answers at once."""
        return "quick"

    # More than there are threads in the pool.
    calls = [{"name": "stuck", "arguments": {}} for _ in range(70)]
    for _ in range(2):
        ask(stuck.make(timeout=0.02), {"tool_calls": calls[:50]})
    model = scripted([{"tool_calls": [{"name": "quick", "arguments": {}}]}, "Done."])
    Orchestrator([Agent(name="clerk", model=model, tools=[quick])]).run("?")
    assert model.requests[-1]["messages"][-1]["content"] == "quick"


def test_act_goes_on_without_it(stuck: Stuck) -> None:
    made = stuck.make(timeout=0.02)

    class Clerk(Agent[Any, str]):
        """Sync."""

        def act(self, state: Any, ctx: AgentContext[Any]) -> str:
            with pytest.raises(RunTimeout, match="stuck"):
                ctx.call(made)
            return "went on"

    class Later(Agent[Any, str]):
        """Async."""

        async def act(self, state: Any, ctx: AgentContext[Any]) -> str:
            with pytest.raises(RunTimeout, match="stuck"):
                await ctx.acall(made)
            return "went on"

    assert Orchestrator([Clerk()]).run("?").answer == "went on"
    assert Orchestrator([Later()]).run("?").answer == "went on"


PROGRAM = """
import asyncio, threading
from antiphon import tool
from antiphon.errors import RunTimeout

@tool(timeout=0.02, side_effect="read")
def stuck() -> str:
    threading.Event().wait()

async def ask():
    try:
        await stuck.acall({})
    except RunTimeout:
        print("late")

asyncio.run(ask())
"""


def test_a_process_ends_although_a_tool_is_stuck() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\n", "")


def test_no_more_calls_than_allowed_are_under_way_in_all_runs() -> None:
    running, most, guard = 0, 0, threading.Lock()
    together = threading.Barrier(2)

    @tool(side_effect="read", max_concurrency=2)
    def search() -> str:
        """Searches."""
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        together.wait(30)
        with guard:
            running -= 1
        return "found"

    call = {"tool_calls": [{"name": "search", "arguments": {}}] * 4}
    team = Orchestrator([Agent(name="a", model=scripted([call, "Done."] * 2), tools=[search])])
    results = team.batch(["one", "two"], concurrency=2)
    assert [result.answer for result in results] == ["Done.", "Done."]
    assert most == 2


def test_calls_of_an_async_tool_wait_without_a_thread() -> None:
    running, most = 0, 0

    @tool(side_effect="read", max_concurrency=1)
    async def search() -> str:
        """Searches."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "found"

    async def both() -> list[Any]:
        return await asyncio.gather(*(search.acall({}) for _ in range(5)))

    assert asyncio.run(both()) == ["found"] * 5
    assert most == 1


def test_a_tool_that_hangs_opens_its_circuit(stuck: Stuck) -> None:
    made = stuck.make(timeout=0.3, breaker=CircuitBreaker(failures=2, cooldown=600))
    ask(made, CALL, CALL)
    # To its gate, a call has started a little later than to the engine: when its thread runs.
    assert happens(lambda: made.gate.status()["overdue"] == 2)
    result, read = ask(made, CALL)
    assert result.answer == "Done."
    assert "has failed 2 times in a row; do not call it before" in read[0]
    assert stuck.calls == 2
    changes = [event for event in result.events if event.name == "tool_circuit"]
    assert [event.data["phase"] for event in changes] == ["open"]
    with pytest.raises(ToolError) as caught:
        made.call({})
    assert caught.value.code == "tool_circuit_open"
