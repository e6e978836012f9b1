"""Questions that are kept in threads: RL-23, and what a caller may do with a thread."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import MemorySaver, SqliteSaver
from antiphon.errors import StateError, ValidationError
from antiphon.models import scripted
from antiphon.systems import Computation, ReviewLoop

if TYPE_CHECKING:
    from collections.abc import Callable

VICTIM = Path(__file__).with_name("lost_question.py")
CALLS = ["planner", "critic", "researcher", "critic", "researcher", "critic", "expert", "critic"]
CALLS += ["finalizer"]


def run_process(folder: Path, roles: str, dies_at: int = 0) -> subprocess.CompletedProcess[str]:
    given = [str(folder / "runs.db"), str(folder / "journal"), roles, str(dies_at)]
    command = [sys.executable, str(VICTIM), *given]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def bare(state: dict[str, Any]) -> dict[str, Any]:
    """The state without what is of one moment."""
    messages = [
        {key: value for key, value in message.items() if key not in {"id", "timestamp"}}
        for message in state["agent_messages"]
    ]
    return {**state, "agent_messages": messages}


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed there with SIGKILL")
@pytest.mark.parametrize("roles", ["functions", "agents", "models"])
def test_a_process_that_is_killed_repeats_no_step_that_was_stored(
    tmp_path: Path, roles: str
) -> None:
    """Prove RL-23 of docs/systems/review-loop.md."""
    (tmp_path / "whole").mkdir()
    whole = json.loads(run_process(tmp_path / "whole", roles).stdout)
    assert (whole["outcome"], whole["final_answer"]) == ("answered", "x")
    for dies_at in (1, 4, 5, 9):
        folder = tmp_path / str(dies_at)
        folder.mkdir()
        assert run_process(folder, roles, dies_at).returncode == -signal.SIGKILL
        done = run_process(folder, roles)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert bare(result["state"]) == bare(whole["state"])
        asked = [line.split()[0] for line in (folder / "journal").read_text().splitlines()]
        # Only the call at which the process died is made again.
        assert asked == [*CALLS[:dies_at], *CALLS[dies_at - 1 :]]


def test_a_process_that_is_killed_again_and_again_still_comes_to_the_end(tmp_path: Path) -> None:
    for _ in range(len(CALLS)):
        assert run_process(tmp_path, "functions", 2).returncode == -signal.SIGKILL
        if len((tmp_path / "journal").read_text().splitlines()) >= 2 * (len(CALLS) - 1):
            break
    done = run_process(tmp_path, "functions")
    assert json.loads(done.stdout)["outcome"] == "answered"
    asked = [line.split()[0] for line in (tmp_path / "journal").read_text().splitlines()]
    assert len(asked) == 2 * len(CALLS) - 1


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed there with SIGKILL")
def test_a_lost_question_is_found_and_recovered(tmp_path: Path) -> None:
    assert run_process(tmp_path, "functions", 4).returncode == -signal.SIGKILL
    loop = ScriptedRoles().loop(checkpointer=f"sqlite:{tmp_path / 'runs.db'}")
    (lost,) = loop.orphans()
    assert loop.state(lost).outcome is None
    (result,) = loop.recover()
    assert (result.outcome, result.thread) == ("answered", lost)
    assert loop.orphans() == []
    assert loop.recover() == []


class ScriptedRoles:
    """Roles that are functions; what was asked is noted, and each may be held up or fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails_at = ""
        self.held = threading.Event()
        self.go = threading.Event()
        self.holds_at = ""

    def loop(self, **options: Any) -> ReviewLoop:
        names = ("planner", "critic", "researcher", "expert", "finalizer")
        return ReviewLoop(**{name: self._role(name) for name in names}, **options)

    def _role(self, name: str) -> Any:
        def answer(brief: dict[str, Any]) -> dict[str, Any]:
            self.asked.append(name)
            if name == self.fails_at:
                raise LookupError(name)
            if name == self.holds_at:
                self.held.set()
                self.go.wait(30)
            question = brief["question"]
            replies: dict[str, dict[str, Any]] = {
                "planner": {"research_steps": ["r"], "expert_steps": ["e"]},
                "critic": {"decision": "approve"},
                "researcher": {"result": "found"},
                "expert": {"expert_answer": question, "reasoning_trace": "why"},
                "finalizer": {"final_answer": f"{question}!", "final_reasoning_trace": "t"},
            }
            return replies[name]

        return answer


def test_a_thread_is_free_once_the_stream_of_its_question_is_closed() -> None:
    roles = ScriptedRoles()
    roles.holds_at = "researcher"
    loop = roles.loop(checkpointer="memory:")
    with loop.stream("q", thread="t") as stream:
        next(stream)
        assert roles.held.wait(10)
    assert (stream.result.outcome, stream.result.thread) == ("cancelled", "t")
    roles.go.set()
    assert loop.resume("t").answer == "q!"


def test_a_thread_is_free_once_the_async_stream_of_its_question_is_closed() -> None:
    async def main() -> None:
        roles = ScriptedRoles()
        roles.holds_at = "researcher"
        loop = roles.loop(checkpointer="memory:")
        async with loop.astream("q", thread="t") as stream:
            await anext(stream)
            assert await asyncio.to_thread(roles.held.wait, 10)
        assert stream.result.outcome == "cancelled"
        roles.go.set()
        assert (await loop.aresume("t")).answer == "q!"

    asyncio.run(main())


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_question_in_a_thread_can_be_looked_up_again(tmp_path: Path, durability: str) -> None:
    roles = ScriptedRoles()
    url = f"sqlite:{tmp_path / 'runs.db'}"
    result = roles.loop(checkpointer=url, durability=durability).run("one", thread="q")
    assert (result.answer, result.thread) == ("one!", "q")
    again = roles.loop(checkpointer=url).resume("q")
    assert (again.answer, again.run_id) == ("one!", result.run_id)
    assert again.state == result.state
    assert len(roles.asked) == 7


def test_a_question_without_a_thread_gets_its_own_where_there_is_a_store() -> None:
    loop = ScriptedRoles().loop(checkpointer=MemorySaver())
    result = loop.run("one")
    assert result.thread == result.run_id
    assert loop.resume(str(result.thread)).answer == "one!"
    assert ScriptedRoles().loop().run("one").thread is None


def test_another_question_in_a_thread_begins_from_nothing() -> None:
    loop = ScriptedRoles().loop(checkpointer="memory:")
    first = loop.run("one", thread="q")
    second = loop.run("two", thread="q")
    assert second.answer == "two!"
    assert len(second.state["agent_messages"]) == len(first.state["agent_messages"])
    assert second.run_id != first.run_id
    assert loop.resume("q").answer == "two!"


def test_an_interrupted_question_can_be_resumed() -> None:
    roles = ScriptedRoles()
    roles.holds_at = "expert"
    loop = roles.loop(checkpointer="memory:")

    async def interrupted() -> None:
        asking = asyncio.ensure_future(loop.arun("one", thread="q"))
        await asyncio.to_thread(roles.held.wait, 30)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        roles.go.set()

    asyncio.run(interrupted())
    known = loop.state("q").state
    assert len(known["research_results"]) == len(known["research_steps"]) == 1
    assert (known["expert_steps"] != [], known["expert_answer"]) == (True, "")
    roles.holds_at = ""
    seen: list[str] = []
    result = loop.resume("q", watch=lambda event: seen.append(event.run_id))
    assert result.answer == "one!"
    assert set(seen) == {result.run_id}, "events carry the id that the question began with"
    assert roles.asked.count("researcher") == 1
    assert roles.asked.count("expert") == 2


def test_resuming_can_be_awaited_and_streaming_takes_a_thread() -> None:
    loop = ScriptedRoles().loop(checkpointer="memory:")

    async def both() -> tuple[Any, Any]:
        async with loop.astream("one", thread="q") as stream:
            async for _ in stream:
                pass
        return stream.result, await loop.aresume("q")

    streamed, resumed = asyncio.run(both())
    assert streamed.state == resumed.state
    with loop.stream("two", thread="q") as stream:
        assert all(event.run_id for event in stream)
    assert loop.resume("q").answer == "two!"


def test_a_thread_has_one_question_at_a_time() -> None:
    roles = ScriptedRoles()
    roles.holds_at = "planner"
    loop = roles.loop(checkpointer="memory:")
    stream = loop.stream("one", thread="q")
    assert roles.held.wait(30)
    with pytest.raises(StateError) as caught:
        loop.run("two", thread="q")
    assert caught.value.code == "thread_busy"
    roles.go.set()
    assert list(stream)
    assert stream.result.answer == "one!"


def test_a_store_that_fails_midway_ends_the_question(tmp_path: Path) -> None:
    roles = ScriptedRoles()
    with SqliteSaver.open(str(tmp_path / "runs.db"), max_bytes=100_000) as saver:
        loop = roles.loop(checkpointer=saver, durability="sync")
        result = loop.run("one" + " and more" * 10_000, thread="q")
    assert (result.outcome, result.error.code if result.error else "") == ("error", "store_full")
    assert "finalizer" not in roles.asked


def test_what_cannot_be_kept_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    roles = ScriptedRoles()
    codes = []
    for call in (
        lambda: roles.loop().run("one", thread="q"),
        lambda: roles.loop().resume("q"),
        lambda: roles.loop(checkpointer="memory:").resume("q"),
        lambda: roles.loop(checkpointer="memory:").run("one", thread=""),
        lambda: roles.loop(durability="sync"),
        lambda: roles.loop(checkpointer="memory:", durability="always"),
    ):
        with pytest.raises(ValidationError) as caught:
            call()
        codes.append(caught.value.code)
    assert codes == [
        "thread_unkept",
        "thread_unkept",
        "thread_empty",
        "thread_invalid",
        "system_setting_invalid",
        "system_setting_invalid",
    ]
    assert roles.asked == []
    other = SqliteSaver.open(str(tmp_path / "runs.db"))
    other.close()
    with pytest.raises(ValidationError, match="closed"):
        roles.loop(checkpointer=other).run("one", thread="q")


def test_a_thread_of_another_system_is_refused_by_the_name_of_that() -> None:
    saver = MemorySaver()
    loop = ScriptedRoles().loop(checkpointer=saver)
    loop.run("one", thread="q")
    computed = Computation(scripted([]), checkpointer=saver)
    calls: tuple[Callable[[], object], ...] = (
        lambda: computed.run("two", thread="q"),
        lambda: computed.resume("q"),
        lambda: computed.state("q"),
        lambda: computed.history("q"),
        lambda: computed.update("q", {}, as_agent="plan"),
    )
    for call in calls:
        with pytest.raises(
            StateError, match="a run of `review_loop`, which `computation`"
        ) as caught:
            call()
        assert caught.value.code == "checkpoint_misfit"
        assert caught.value.hint == "resume it with `review_loop`, or choose another thread"
    assert loop.resume("q").answer == "one!"
