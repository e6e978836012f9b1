"""Several processes do everything to one store at once, and nothing is lost, mixed or damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from antiphon.checkpoint import Saver
from antiphon.graph import StateSnapshot
from support.postgres import Server
from support.torture import rounds
from torture.store_writers import (
    FORKED,
    KEPT,
    PRUNES,
    REMADE,
    Job,
    build,
    check_history,
    check_tokens,
    checkpoint_of,
    config,
    open_store,
)

SCRIPT = Path(__file__).with_name("store_writers.py")
PROCESSES, ACTS = rounds(2, 4), rounds(40, 140)
OLD, NEW = bytes(range(32)).hex(), bytes(range(1, 33)).hex()


def start(job: Job) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), json.dumps(job)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Journal:
    """What all writers noted, in the order in which it happened."""

    def __init__(self, path: Path) -> None:
        self.lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.started = {self._act(line): n for n, line in self._lines("started")}

    def done(self, act: str | None = None) -> list[tuple[int, int, dict[str, Any]]]:
        """All acts that were acknowledged, with when they began and ended."""
        return [
            (self.started[self._act(line)], number, line)
            for number, line in self._lines("done")
            if act in {None, line["act"]}
        ]

    def tokens(self, thread: str) -> dict[str, tuple[int, int]]:
        """All tokens of a thread that were acknowledged, with when that began and ended."""
        return {
            line["token"]: (started, ended)
            for started, ended, line in self.done()
            if line.get("thread") == thread and "token" in line
        }

    def refused(self, thread: str) -> set[str]:
        """Tokens of writers that another one was in the way of."""
        lines = (line for _, line in self._lines("thread_busy") if line.get("thread") == thread)
        return {line["token"] for line in lines if "token" in line}

    def deletions(self, thread: str) -> list[tuple[int, int]]:
        """When a thread was deleted."""
        return [
            (started, end) for started, end, line in self.done("delete") if line["thread"] == thread
        ]

    def _lines(self, state: str) -> list[tuple[int, dict[str, Any]]]:
        return [(n, line) for n, line in enumerate(self.lines) if line["state"] == state]

    @staticmethod
    def _act(line: dict[str, Any]) -> tuple[str, int, str]:
        return line["writer"], line["number"], line["act"]


class Audit:
    """A store that nobody writes to any more, and what was noted of it."""

    def __init__(self, saver: Saver, journal: Journal, *, prunes: bool) -> None:
        self.saver, self.journal, self.prunes = saver, journal, prunes
        self.graph = build(saver)

    def check(self) -> None:
        """All that holds of all threads."""
        listed = {one.thread: one.status for one in self.saver.threads(limit=100_000)}
        assert set(listed.values()) <= {"ended", "paused"}, listed
        gone = {line["thread"] for _, _, line in self.journal.done("delete")} - {REMADE}
        assert not gone & listed.keys(), f"deleted and there again: {gone & listed.keys()}"
        written = {line.get("thread") for _, _, line in self.journal.done() if "token" in line}
        copied = {line["thread"] for _, _, line in self.journal.done("copy")}
        lost = (written | copied) - gone - {REMADE} - listed.keys()
        assert not lost, f"acknowledged, and not there: {lost}"
        for thread in listed:
            self.check_thread(thread)
        self.check_answers()
        self.check_copies(listed.keys())

    def check_thread(self, thread: str) -> None:
        """It reads whole, and holds what was acknowledged."""
        shots = [*self.graph.get_state_history(config(thread))]
        check_history(shots)
        assert self.prunes or shots[-1].parent_config is None, shots[-1]
        held = self.graph.get_state(config(thread)).values["tokens"]
        assert held == shots[0].values["tokens"]
        self.check_origin(thread, held)
        if thread == REMADE:
            self.check_lives(held)
        elif thread == FORKED:
            self.check_branches()
        else:
            lost = self.journal.tokens(thread).keys() - set(held)
            assert not lost, f"{thread} lost {lost}"

    def check_origin(self, thread: str, held: list[str]) -> None:
        """What a thread holds was written to it, or to the one it is a copy of."""
        copies = [line for _, _, line in self.journal.done("copy") if line["thread"] == thread]
        sources = {thread, *(line["source"] for line in copies)}
        refused = {token for source in sources for token in self.journal.refused(source)}
        for token in held:
            assert token.split("|")[0] in sources, f"{thread} holds {token}"
            assert token not in refused, f"{thread} holds what was refused: {token}"

    def check_lives(self, held: list[str]) -> None:
        """What was written before a deletion is gone, and what was written after it is there."""
        deletions = self.journal.deletions(REMADE)
        for token, (started, ended) in self.journal.tokens(REMADE).items():
            if any(ended < begin for begin, _ in deletions):
                assert token not in held, f"deleted and there again: {token}"
            elif all(end < started for _, end in deletions):
                assert token in held, f"{REMADE} lost {token}"

    def check_branches(self) -> None:
        """All branches come from where they began, and hold what was acknowledged."""
        branches: dict[str | None, StateSnapshot] = {}
        for shown in self.saver.thread(FORKED, limit=100_000).checkpoints:
            where: Any = {"configurable": {"thread_id": FORKED, "checkpoint_id": str(shown.id)}}
            shot = self.graph.get_state(where)
            branches[checkpoint_of(shot.config)] = shot
        added: list[str] = []
        for shot in branches.values():
            tokens, parent = shot.values["tokens"], checkpoint_of(shot.parent_config)
            check_tokens(tokens)
            before = branches[parent].values["tokens"] if parent in branches else []
            assert tokens[: len(before)] == before, (shot, parent)
            added += tokens[len(before) :]
        if self.prunes:
            return
        assert len(set(added)) == len(added), "written twice"
        lost = self.journal.tokens(FORKED).keys() - set(added)
        assert not lost, f"{FORKED} lost {lost}"

    def check_answers(self) -> None:
        """No question was answered twice."""
        for thread in KEPT:
            answers = self.journal.done("answer")
            asked = [line["found"] for _, _, line in answers if line["thread"] == thread]
            assert len(set(asked)) == len(asked), f"answered twice: {asked}"

    def check_copies(self, listed: AbstractSet[str]) -> None:
        """A copy holds at least what its thread held before."""
        for started, _, line in self.journal.done("copy"):
            thread, source = line["thread"], line["source"]
            if source not in KEPT or thread not in listed or thread == REMADE:
                continue
            held = self.graph.get_state(config(thread)).values["tokens"]
            before = {
                one for one, (_, ended) in self.journal.tokens(source).items() if ended < started
            }
            assert before <= set(held), f"{thread} lacks {before - set(held)} of {source}"


@pytest.fixture(params=["sqlite", "sqlite with keys", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """Where a store is, and its keys."""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return server.database(), []
    return f"sqlite:{tmp_path}/runs.db", [NEW, OLD] if "keys" in request.param else []


def run(place: tuple[str, list[str]], path: Path, mix: str) -> None:
    """Runs all writers to their end; every other one writes with the old key."""
    url, keys = place
    writers = []
    with open_store(url, keys), ExitStack() as stack:
        for number in range(PROCESSES):
            own, seed = keys[:: -1 if number % 2 else 1], f"{mix}{number}"
            about = Job(url=url, keys=own, journal=str(path), seed=seed, acts=ACTS, mix=mix)
            writer = stack.enter_context(start(about))
            stack.callback(writer.kill)
            writers.append(writer)
        for writer in writers:
            _, error = writer.communicate(timeout=280)
            assert writer.returncode == 0, error


@pytest.mark.parametrize("mix", list(PRUNES))
def test_writers_beside_each_other_keep_all_that_was_acknowledged(
    place: tuple[str, list[str]], tmp_path: Path, mix: str
) -> None:
    path = tmp_path / "journal"
    run(place, path, mix)
    url, keys = place
    journal, prunes = Journal(path), bool(PRUNES[mix])
    with open_store(url, keys) as saver:
        Audit(saver, journal, prunes=prunes).check()
        if keys:
            done = saver.rekey()
            assert not [*done.busy, *done.damaged]
    with open_store(url, keys[:1]) as saver:
        Audit(saver, journal, prunes=prunes).check()
