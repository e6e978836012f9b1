"""Teams of several processes on one store: answers, crashes and conflicts (EN-22, EN-11)."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import Orchestrator
from antiphon.errors import StateError
from orchestrator.other_process import CRASHED, Greet, asking, working
from support.waiting import happens

OTHER = Path(__file__).with_name("other_process.py")
TIMEOUT = 30

on_linux = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


class Place:
    """A store that processes share, and what their agents have noted."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:{folder}/runs.db"
        self.journal = str(folder / "journal")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Starts another process."""
        command = [sys.executable, str(OTHER), self.url, self.journal, *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def run(self, *words: str) -> Any:
        """What another process says, once it has ended."""
        process = self.start(*words)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return json.loads(said)

    def notes(self) -> list[str]:
        """Who has started in which thread, line by line."""
        path = Path(self.journal)
        return path.read_text().splitlines() if path.exists() else []

    def wait_for(self, *notes: str) -> None:
        """Until agents have noted these."""
        noted = happens(lambda: set(notes) <= set(self.notes()))
        assert noted, f"nobody noted {notes}: {self.notes()}"

    def crash(self) -> None:
        """Leaves threads behind whose process was killed."""
        process = self.start("crash")
        try:
            self.wait_for(*(f"work {thread}" for thread in CRASHED))
            team = self.team()
            assert team.orphans() == [], "their process is alive"
        finally:
            process.kill()
            process.communicate()

    def team(self) -> Orchestrator:
        """The team that was killed, here."""
        return working(self.url, self.journal, stuck=False)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A separate store."""
    return Place(tmp_path)


def test_a_question_is_answered_in_another_process(place: Place) -> None:
    """Prove EN-22 of docs/engine.md."""
    paused = place.run("ask")
    assert (paused["outcome"], paused["answer"]) == ("paused", None)
    held = asking(place.url, place.journal).state("t")
    assert [question.value for question in held.questions] == [{"need": "a name"}]
    assert held.to_dict()["questions"] == paused["questions"]
    answered = place.run("answer", "Ada")
    assert (answered["outcome"], answered["id"]) == ("answered", paused["id"])
    assert answered["answer"] == "greet the guest: hello Ada"
    # Only the agent that asked begins again.
    assert place.notes() == ["plan t", "greet t", "greet t"]
    assert asking(place.url, place.journal).state("t").answer == answered["answer"]


@on_linux
def test_lost_runs_are_found_and_taken_up(place: Place) -> None:
    """Prove EN-11 of docs/engine.md."""
    place.crash()
    place.run("ask")
    team = place.team()
    assert team.orphans() == sorted(CRASHED)
    held = team.state(CRASHED[0])
    assert (held.outcome, held.next, held.wrote) == (None, ("work",), ("plan",))
    results = team.recover(concurrency=2)
    assert [result.thread for result in results] == sorted(CRASHED)
    assert {(result.outcome, result.answer) for result in results} == {
        ("answered", "worked on greet x")
    }
    assert [note.split(maxsplit=1)[0] for note in place.notes()].count("plan") == len(CRASHED) + 1
    assert team.orphans() == []
    assert team.recover() == []
    assert asking(place.url, place.journal).state("t").outcome == "paused"


@on_linux
def test_lost_runs_are_taken_up_by_awaiting_too(place: Place) -> None:
    place.crash()

    async def recover() -> list[Any]:
        team = place.team()
        assert await team.aorphans() == sorted(CRASHED)
        return [result.answer for result in await team.arecover()]

    assert asyncio.run(recover()) == ["worked on greet x"] * len(CRASHED)


@on_linux
def test_one_lost_run_is_resumed_by_name_and_a_turn_may_begin_over_it(place: Place) -> None:
    place.crash()
    team = place.team()
    assert team.resume(CRASHED[0]).answer == "worked on greet x"
    assert team.run("y", thread=CRASHED[1]).answer == "worked on greet y"
    fork = team.fork(CRASHED[2])
    assert team.orphans() == [CRASHED[2]], "a fork of a lost run is not lost itself"
    assert team.resume(fork).answer == "worked on greet x"


@on_linux
def test_a_lost_run_of_other_agents_is_none_of_ours(place: Place) -> None:
    place.crash()
    named_alike = Orchestrator([Greet(place.journal)], checkpointer=place.url, name="working")
    assert named_alike.orphans() == []
    assert asking(place.url, place.journal).orphans() == []
    assert place.team().orphans() == sorted(CRASHED)


def test_a_second_process_gets_a_typed_conflict(place: Place) -> None:
    process = place.start("hold")
    try:
        place.wait_for("work held")
        team = place.team()
        with pytest.raises(StateError) as raised:
            team.run("y", thread="held")
        assert raised.value.code == "thread_busy"
        with pytest.raises(StateError) as raised:
            team.resume("held")
        assert raised.value.code == "thread_busy"
        assert team.state("held").next == ("work",)
        assert team.orphans() == []
    finally:
        process.kill()
        process.communicate()


@on_linux
def test_each_lost_run_is_taken_up_by_one_of_several_processes(place: Place) -> None:
    place.crash()
    started = place.notes()
    processes = [place.start("recover") for _ in range(3)]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert {result["outcome"] for results in said for result in results} == {"answered"}
    assert {result["thread"] for results in said for result in results} == set(CRASHED)
    again = place.notes()[len(started) :]
    assert sorted(again) == sorted(f"work {thread}" for thread in CRASHED)


def test_ctrl_c_leaves_the_thread_free_and_resumable(place: Place) -> None:
    process = place.start("hold")
    place.wait_for("work held")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode != 0
    team = place.team()
    held = team.state("held")
    assert (held.outcome, held.next) == ("cancelled", ("work",))
    assert team.resume("held").answer == "worked on greet x"
