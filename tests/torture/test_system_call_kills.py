"""Processes that are killed at single system calls, in everything that writes to a store."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.checkpoint import Saver
from antiphon.cli import main
from support.postgres import Server
from support.system_calls import MANNERS, Kill, compile_library
from support.torture import rounds
from torture.killed_operations import (
    COPY,
    KEPT,
    LONG,
    OPERATIONS,
    OTHERS,
    PAYMENTS,
    QUESTION,
    THREAD,
    World,
    open_store,
    page,
    payments,
    place,
)

TESTS = Path(__file__).parents[1]
OLD, NEW = bytes(range(32)).hex(), bytes(range(1, 33)).hex()
LANGGRAPH = "AntiphonSaver"
PLAIN = [name for name in OPERATIONS if name not in {LANGGRAPH, "rekey"}]
"""What needs neither LangGraph nor keys."""
IN_POSTGRES = [
    "answer",
    "invoke, async",
    "copy_thread",
    "invoke, sync",
    "invoke, exit",
    "question",
    "update_state",
    "delete_thread",
    "prune",
]
"""There `compact` does nothing, and the server recovers by itself."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the library tells files by their paths there"
)


class Killer:
    """The process that forks for each job, with the library preloaded."""

    def __init__(self, folder: Path, *modules: str) -> None:
        self._errors = folder / "errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "torture.killed_operations", *modules],
                cwd=TESTS,
                env={**os.environ, "LD_PRELOAD": str(compile_library(folder))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def do(self, job: dict[str, Any]) -> bool:
        """Do a job; whether it was killed before it was done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        assert status in {0, -signal.SIGKILL}, self._errors.read_text(encoding="utf-8")
        return status != 0

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    """One for all tests."""
    made = Killer(tmp_path_factory.mktemp("killer"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def langgraph_killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    """One that has imported LangGraph."""
    made = Killer(tmp_path_factory.mktemp("killer"), "torture.saver_writers")
    yield made
    made.close()


class Files:
    """Stores in files: copies of one that was prepared."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = folder / "template"
        self._template.mkdir()
        self.url = f"sqlite:{folder}/prepared.db"

    def save(self) -> None:
        """Take what is there now for the template."""
        for suffix in ("", "-wal"):
            prepared = self._folder / f"prepared.db{suffix}"
            if prepared.exists():
                shutil.copy(prepared, self._template / f"runs.db{suffix}")

    @contextlib.contextmanager
    def copy(self) -> Iterator[tuple[str, str | None]]:
        """A copy of the template: its URL, and what its paths begin with."""
        folder = self._folder / "trial"
        shutil.copytree(self._template, folder)
        yield f"sqlite:{folder}/runs.db", f"{folder}/runs.db"
        shutil.rmtree(folder)


class Databases:
    """Stores in databases: copies of one that was prepared."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.url = server.database()
        self._template = self.url.rpartition("/")[2]

    def save(self) -> None:
        """Nothing: the database is the template."""

    @contextlib.contextmanager
    def copy(self) -> Iterator[tuple[str, str | None]]:
        """A copy of the template: its URL; what is sent over TCP is counted."""
        name = f"{self._template}_trial"
        self._server.ask(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        yield self._server.url(name), None
        self._server.ask(f"DROP DATABASE {name} WITH (FORCE)")


class Aftermath:
    """What a process has left behind, as another one finds it.

    Attributes:
        before: what was there before the operation, as `picture` shows it.
        notes: what the process noted.
        world: the graph over the store that it left.
    """

    def __init__(
        self, before: dict[str, Any], journal: Path, url: str, keys: list[str], saver: Saver
    ) -> None:
        self.before, self.journal, self._url, self.keys = before, journal, url, keys
        self.notes = self.noted()
        self.world = World(saver, self._note)

    @property
    def is_done(self) -> bool:
        """Whether the operation returned."""
        return "done" in self.notes

    def noted(self) -> list[str]:
        """Everything that was noted so far."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    def picture(self) -> dict[str, Any]:
        """What is there now."""
        return picture(self.world.saver)

    def check_lists(self) -> None:
        """Every thread is listed and shown, and none is damaged or busy."""
        for one in self.world.saver.threads():
            # What LangGraph's writers claim together is theirs for ten seconds, even if all die.
            is_shared = one.thread.startswith("langgraph:") and one.size == 0
            assert one.status != "unreadable", one
            assert one.status != "running" or is_shared, one
            assert self.world.saver.thread(one.thread).summary.status == one.status

    def check_command(self) -> None:
        """The command line shows the same."""
        shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(shown):
            assert main(["runs", "list", "--store", self._url, "--json"]) == 0
        shown.seek(0)
        listed = [one["thread"] for one in json.load(shown)["threads"]]
        assert listed == [one.thread for one in self.world.saver.threads()]

    def check_payments(self, expected: set[str]) -> None:
        """Each was made once, or its outcome is unknown: then the node got that error."""
        noted = self.noted()
        paid = [line for line in noted if line in expected]
        unknown = {line.removeprefix("unknown ") for line in noted if line.startswith("unknown ")}
        assert len(paid) == len(set(paid)), f"something was paid twice: {noted}"
        assert set(paid) | unknown == expected, noted

    def _note(self, text: str) -> None:
        with self.journal.open("a") as file:
            file.write(f"{text}\n")


def picture(saver: Saver) -> dict[str, Any]:
    """Everything that threads hold, and held."""
    graph = World(saver, print).graph
    found = {}
    for one in saver.threads():
        if one.status in {"empty", "foreign"}:
            continue
        found[one.thread] = [
            (
                shot.config["configurable"]["checkpoint_id"],
                shot.values,
                shot.next,
                [asked.value for asked in shot.interrupts],
            )
            for shot in graph.get_state_history(place(one.thread))
        ]
    return found


def check_run(after: Aftermath, durability: str) -> None:
    """It resumes where it was, and no payment is made twice."""
    log = after.world.log()
    assert log == payments(len(log))
    started = [int(line.split()[1]) for line in after.notes if line.startswith("began ")]
    paid = [line for line in after.notes if line.startswith("paid ")]
    if after.is_done:
        assert len(log) == PAYMENTS
    if durability == "sync" and started:
        assert len(log) >= started[-1], "a superstep begins once the one before is durable"
    if durability == "async" and paid:
        assert len(log) >= len(paid) - 1, "a payment begins once all before it is durable"
    if durability == "exit":
        assert log in ([], payments(PAYMENTS)), "nothing is stored before the end"
    assert after.world.finish() == payments(PAYMENTS)
    if durability != "exit":
        after.check_payments(set(payments(PAYMENTS)))


def check_question(after: Aftermath) -> None:
    """A question that was shown is there, and what was paid before it is not paid again."""
    state = after.world.graph.get_state(THREAD)
    if "shown" in after.notes:
        assert [asked.value for asked in state.interrupts] == [QUESTION]
    assert after.world.finish(until=1, asks=True) == payments(1, "yes")
    after.check_payments({"paid 0", "packed", "delivered"})


def check_answer(after: Aftermath) -> None:
    """The answer is there, or the question still is."""
    state = after.world.graph.get_state(THREAD)
    assert after.world.log() in (payments(2), payments(2, "yes"))
    assert [asked.value for asked in state.interrupts] in ([QUESTION], [])
    if "delivered" in after.notes:
        assert not state.interrupts, "the answer is stored before the run continues"
    if after.is_done:
        assert after.world.log() == payments(2, "yes")
    assert after.world.finish() == payments(2, "yes")
    after.check_payments({*payments(2), "packed", "delivered"})


def check_edit(after: Aftermath) -> None:
    """The state is the edited one or the one before."""
    log, values = after.world.log(), after.world.graph.get_state(THREAD).values
    edited = payments(PAYMENTS, "edited")
    assert log in (payments(PAYMENTS), edited)
    assert values["page"] == page(99 if log == edited else PAYMENTS - 1)
    assert log == edited or not after.is_done
    after.world.graph.update_state(THREAD, {"log": ["again"]}, as_node="pay")
    assert after.world.finish() == [*log, "again"]


def check_copy(after: Aftermath) -> None:
    """The copy is whole, or there is none; the thread is as it was."""
    found = after.picture()
    copied = found.pop("copy", None)
    assert found == after.before
    assert copied in (None, after.before["t"])
    if copied is None:
        assert not after.is_done
        after.world.saver.copy_thread("t", "copy")
    assert after.world.finish(COPY) == payments(LONG, "yes")
    check_others(after)


def check_deletion(after: Aftermath) -> None:
    """The thread is whole, or gone."""
    found = after.picture()
    assert found in (after.before, {name: after.before[name] for name in OTHERS})
    if after.is_done:
        assert "t" not in found
    if "t" in found:
        assert after.world.finish() == payments(LONG, "yes")
        after.world.saver.delete_thread("t")
    assert sorted(one.thread for one in after.world.saver.threads()) == sorted(OTHERS)
    assert after.world.finish() == payments(PAYMENTS)
    check_others(after)


def check_pruning(after: Aftermath) -> None:
    """The checkpoints that stay are as they were."""
    found = after.picture()
    pruned = found["t"]
    assert found == after.before | {"t": after.before["t"][: len(pruned)]}
    assert len(pruned) >= KEPT
    if after.is_done:
        assert len(pruned) < LONG
    after.world.saver.prune("t", keep_last=KEPT)
    assert after.world.finish() == payments(LONG, "yes")
    check_others(after)


def check_compacting(after: Aftermath) -> None:
    """Nothing has changed."""
    assert after.picture() == after.before
    after.world.saver.compact()
    assert after.world.finish() == payments(LONG, "yes")
    check_others(after)


def check_rekeying(after: Aftermath) -> None:
    """The holder of both keys reads everything, and can end it."""
    assert after.picture() == after.before
    done = after.world.saver.rekey()
    assert not done.busy
    assert not done.damaged
    assert done.entries == 0 or not after.is_done
    assert after.world.finish() == payments(LONG, "yes")
    after.keys.remove(OLD)


def check_langgraph(after: Aftermath) -> None:
    """What was put is there, and everything that is there was put."""
    from antiphon.checkpoint import AntiphonSaver
    from torture import saver_writers

    path = f"{after.journal}-writes"
    saver = AntiphonSaver(after.world.saver)
    writer = saver_writers.Writer(saver, saver_writers.Journal(path), "after")
    for _ in range(2):
        notes = saver_writers.Notes(path)
        for thread in saver_writers.KEPT + saver_writers.CHANGED:
            assert saver_writers.check_thread(saver, thread, notes) == []
        writer.add("kept")
        writer.add("pruned")


def check_others(after: Aftermath) -> None:
    """Threads that the operation is not about continue."""
    for name in OTHERS:
        assert after.world.log(place(name)) == payments(PAYMENTS)
        done = after.world.begin(config=place(name), until=PAYMENTS + 1)
        assert done["log"] == payments(PAYMENTS + 1)


CHECKS: dict[str, Callable[[Aftermath], None]] = {
    "invoke, sync": lambda after: check_run(after, "sync"),
    "invoke, async": lambda after: check_run(after, "async"),
    "invoke, exit": lambda after: check_run(after, "exit"),
    "question": check_question,
    "answer": check_answer,
    "update_state": check_edit,
    "copy_thread": check_copy,
    "delete_thread": check_deletion,
    "prune": check_pruning,
    "compact": check_compacting,
    "rekey": check_rekeying,
    "AntiphonSaver": check_langgraph,
    "recovery": lambda after: check_run(after, "sync"),
}


class Trial:
    """An operation in processes that die at one call after the other.

    Args:
        killer: starts them.
        stores: where it happens, anew each time.
        name: the operation.
        folder: for journals.
        keys: the store's.
    """

    def __init__(
        self, killer: Killer, stores: Files | Databases, name: str, folder: Path, *, keys: list[str]
    ) -> None:
        self._killer, self._stores, self._name, self._folder = killer, stores, name, folder
        self._keys = keys
        self._journal = folder / "prepared"
        self._before: dict[str, Any] = {}
        if not OPERATIONS[name].is_first:
            self._prepare()

    def run(self, kill: Kill) -> int | None:
        """Kill it there, and look at what it left; gives how many calls there were, if it lived."""
        journal = self._folder / "journal"
        for suffix in ("", "-writes"):
            journal.with_name(f"journal{suffix}").unlink(missing_ok=True)
        if self._journal.exists():
            shutil.copy(self._journal, journal)
        with self._stores.copy() as (url, prefix):
            keys = list(self._keys)
            job: dict[str, Any] = {"operation": self._name, "url": url, "prefix": prefix}
            job |= {"keys": keys, "journal": str(journal)}
            job |= {"at": kill.at, "manner": kill.manner}
            is_killed = self._killer.do(job)
            with open_store(url, keys) as saver:
                after = Aftermath(self._before, journal, url, keys, saver)
                after.check_lists()
                if not is_killed or rounds(0, 1):
                    after.check_command()
                CHECKS[self._name](after)
            if keys != self._keys:
                with open_store(url, keys) as saver:
                    assert [one.status for one in saver.threads()] == ["ended"] * 3
        return None if is_killed else int(after.notes[-1].removeprefix("calls "))

    def _prepare(self) -> None:
        operation = OPERATIONS[self._name]
        with open_store(self._stores.url, self._keys[-1:]) as saver:
            operation.prepare(World(saver, self._note))
            self._before = picture(saver)
            if operation.is_left_open:
                self._stores.save()
        if not operation.is_left_open:
            self._stores.save()

    def _note(self, text: str) -> None:
        with self._journal.open("a") as file:
            file.write(f"{text}\n")


PARTS = rounds(1, 3)
"""Of the calls, each a test: on a busy machine a kill takes a second or three."""


@pytest.fixture(params=range(PARTS))
def part(request: pytest.FixtureRequest) -> int:
    """Which of them."""
    number: int = request.param
    return number


def kill_at_calls(trial: Trial, part: int, smoke: int) -> None:
    """Kill at a part of the calls, in one manner or another; in the ordinary run at some of it."""
    calls = trial.run(Kill())
    assert calls
    chance = random.Random(0)
    kills = [Kill(at, chance.choice(MANNERS)) for at in range(part + 1, calls + 1, PARTS)]
    chosen = chance.sample(kills, rounds(smoke, len(kills)))
    for first in chosen:
        kill = first
        try:
            # A run that takes more at once makes fewer calls: what lies beyond its end is
            # killed earlier.
            while trial.run(kill) is not None:
                assert kill.at > 1, "no call was reached"
                kill = Kill(kill.at // 2, kill.manner)
        except BaseException as error:
            error.add_note(f"{kill} of {calls}")
            raise


@pytest.fixture
def encrypted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of a store, which the command line knows too."""
    monkeypatch.setenv("ANTIPHON_CHECKPOINTER_KEY", f"{NEW},{OLD}")
    return [NEW]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Stores in files."""
    return Files(tmp_path)


@pytest.fixture
def databases(postgres: Server) -> Databases:
    """Stores in databases."""
    return Databases(postgres)


@pytest.mark.parametrize("name", PLAIN)
def test_a_file_is_whole_after_a_kill_at_any_call(
    killer: Killer, files: Files, tmp_path: Path, part: int, name: str
) -> None:
    kill_at_calls(Trial(killer, files, name, tmp_path, keys=[]), part, 3)


@pytest.mark.parametrize("name", PLAIN)
def test_an_encrypted_file_is_whole_after_a_kill_at_any_call(
    killer: Killer, files: Files, tmp_path: Path, encrypted: list[str], part: int, name: str
) -> None:
    kill_at_calls(Trial(killer, files, name, tmp_path, keys=encrypted), part, 3)


def test_a_file_is_whole_after_a_kill_at_any_call_that_changes_its_key(
    killer: Killer, files: Files, tmp_path: Path, encrypted: list[str], part: int
) -> None:
    keys = [*encrypted, OLD]
    kill_at_calls(Trial(killer, files, "rekey", tmp_path, keys=keys), part, 3)


@pytest.mark.parametrize("name", IN_POSTGRES[: rounds(3, len(IN_POSTGRES))])
def test_a_database_is_whole_after_a_kill_at_any_message(
    killer: Killer, databases: Databases, tmp_path: Path, part: int, name: str
) -> None:
    kill_at_calls(Trial(killer, databases, name, tmp_path, keys=[]), part, 2)


def test_a_database_is_whole_after_a_kill_at_any_message_that_changes_its_key(
    killer: Killer, databases: Databases, tmp_path: Path, encrypted: list[str], part: int
) -> None:
    keys = [*encrypted, OLD]
    kill_at_calls(Trial(killer, databases, "rekey", tmp_path, keys=keys), part, 2)


def test_what_langgraph_puts_in_a_file_is_there_after_a_kill(
    langgraph_killer: Killer, files: Files, tmp_path: Path, part: int
) -> None:
    kill_at_calls(Trial(langgraph_killer, files, LANGGRAPH, tmp_path, keys=[]), part, 3)


def test_what_langgraph_puts_in_an_encrypted_file_is_there_after_a_kill(
    langgraph_killer: Killer, files: Files, tmp_path: Path, encrypted: list[str], part: int
) -> None:
    kill_at_calls(Trial(langgraph_killer, files, LANGGRAPH, tmp_path, keys=encrypted), part, 3)


def test_what_langgraph_puts_in_a_database_is_there_after_a_kill(
    langgraph_killer: Killer, databases: Databases, tmp_path: Path, part: int
) -> None:
    kill_at_calls(Trial(langgraph_killer, databases, LANGGRAPH, tmp_path, keys=[]), part, 2)
