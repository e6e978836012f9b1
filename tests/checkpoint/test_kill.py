"""Processes that are killed at random instants, over each store on disk (EN-11, EN-12)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import happens, take_time

TESTS = Path(__file__).parents[1]
# Of all the cases together.
KILLS = int(os.environ.get("ANTIPHON_KILLS", "52")) // 4
# So many that most of them come before the end.
STEPS = 20 * KILLS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(),
        reason="elsewhere a thread is free only after its term",
    ),
]


class Journal:
    """What the victims have noted so far."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lines(self) -> list[list[str]]:
        """The notes, word by word; a torn last line is none."""
        if not self._path.exists():
            return []
        text = self._path.read_text()
        return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait_for_more(self, than: int) -> None:
        """Until a victim has noted something."""
        assert happens(lambda: len(self.lines()) > than, seconds=120), "the victim does nothing"


def start(folder: Path, url: str, durability: str) -> subprocess.Popen[bytes]:
    arguments = [url, str(folder / "journal"), durability, str(STEPS)]
    command = [sys.executable, "-m", "checkpoint.killed_process", *arguments]
    return subprocess.Popen(command, cwd=TESTS)


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_committed_work_stays_and_is_not_repeated(
    tmp_path: Path, url: str, durability: str
) -> None:
    """Prove EN-11 of docs/engine.md."""
    journal = Journal(tmp_path / "journal")
    chance = random.Random(KILLS)
    for _ in range(KILLS):
        before = len(journal.lines())
        victim = start(tmp_path, url, durability)
        try:
            journal.wait_for_more(before)
            take_time(chance.uniform(0, 0.08))
        finally:
            victim.kill()
            victim.wait()
    assert start(tmp_path, url, durability).wait(120) == 0
    lines = journal.lines()
    assert lines[-1] == ["end", str(STEPS + 1), str(STEPS), str(STEPS)]
    assert [line[0] for line in lines].count("begin") == KILLS + 1
    check(lines, is_sync=durability == "sync")
    check_payments(lines)
    ends = [place for place, line in enumerate(lines) if line[0] == "end"]
    hit = [line[0] for line in lines[: ends[0]]].count("begin")
    assert hit > KILLS / 4, "most processes were killed after the end"


def check(lines: list[list[str]], *, is_sync: bool) -> None:
    """Each process resumes where the thread is, and never before that."""
    count, done = 0, {"left": 0, "right": 0}
    started = {"count": -1, "left": 0, "right": 0}
    for word, *rest in lines:
        if word == "end":
            continue
        if word == "begin":
            held, left, right = (int(number) for number in rest[:3])
            assert held >= count, f"the count was {count} and is {held}"
            assert (left, right) >= (done["left"], done["right"])
            if is_sync:
                # A superstep begins once the one before is durable.
                assert held >= started["count"]
                assert min(left, right) >= max(started["left"], started["right"]) - 1
            count, done = held, {"left": left, "right": right}
            continue
        number = int(rest[0])
        if word in {"pay", "unknown"}:
            continue
        if word == "count":
            assert number >= count, f"the count goes back from {count} to {number}"
        else:
            assert number > done[word], f"{word} is done again: {number}"
        started[word] = max(started[word], number)


def check_payments(lines: list[list[str]]) -> None:
    """Each was made once, or its outcome is unknown: then the node got that error."""
    paid = [int(line[1]) for line in lines if line[0] == "pay"]
    unknown = {int(line[1]) for line in lines if line[0] == "unknown"}
    assert len(paid) == len(set(paid)), "something was paid twice"
    assert set(paid) | unknown == set(range(STEPS + 1))
