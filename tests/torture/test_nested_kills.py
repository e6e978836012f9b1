"""Processes that are killed while a node runs graphs: the graphs continue where they were."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from support.torture import rounds
from support.waiting import happens

TESTS = Path(__file__).parents[1]
CALLS = [f"row{number}" for number in range(6)] + [f"beside{number}" for number in range(3)]
NODES = ["one", "two", "three"]
DONE = [f"{call}/{node}" for call in [*CALLS, "deep/inner"] for node in NODES]
PAID = [*DONE, "team/first", "team/second"]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


def lines(journal: Path) -> list[list[str]]:
    """The notes so far, word by word; a torn last line is none."""
    text = journal.read_text() if journal.exists() else ""
    return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]


def came_to(journal: Path, notes: int, victim: subprocess.Popen[bytes]) -> bool:
    """Whether there are so many notes, or it has ended."""
    return len(lines(journal)) >= notes or victim.poll() is not None


def killed_in_the_middle(folder: Path, url: str, durability: str, chance: random.Random) -> int:
    """Executes one run to its end, and kills it on the way; gives how often it was killed."""
    journal = folder / "journal"
    arguments = [sys.executable, "-m", "torture.nested_process", url, str(journal), durability]
    kills = 0
    while True:
        before = len(lines(journal))
        victim = subprocess.Popen(arguments, cwd=TESTS)
        # So many notes further it dies, unless it has ended before.
        goal = before + 1 + chance.randrange(1, 14)
        reached = partial(came_to, journal, goal, victim)
        assert happens(reached, seconds=120), "the victim does nothing"
        if victim.poll() is not None:
            assert victim.returncode == 0
            return kills
        victim.kill()
        victim.wait()
        kills += 1


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_called_graph_resumes_where_it_stopped(tmp_path: Path, durability: str) -> None:
    chance = random.Random(durability)
    total = 0
    for number in range(rounds(1, 60)):
        folder = tmp_path / str(number)
        folder.mkdir()
        kills = killed_in_the_middle(folder, f"sqlite:{folder}/runs.db", durability, chance)
        total += kills
        noted = lines(folder / "journal")
        paid = Counter(line[1] for line in noted if line[0] == "pay")
        unknown = {line[1] for line in noted if line[0] == "unknown"}
        assert max(paid.values()) == 1, "nothing is done twice"
        assert set(paid) | unknown == set(PAID)
        assert noted[-1] == ["end", *DONE, "team/second"]
        ran = Counter(tuple(line[1:]) for line in noted if line[0] == "node")
        again = sum(ran.values()) - len(ran)
        if durability == "sync":
            # Three graphs run side by side: no kill finds more nodes than that unfinished.
            assert again <= 3 * kills
    assert total > 0
