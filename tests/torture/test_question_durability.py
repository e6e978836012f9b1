"""Processes that are killed at the moment they see a question: another one finds and answers it."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.torture import rounds

TESTS = Path(__file__).parents[1]
DURABILITIES = ["sync", "async", "exit"]
MODES = ["values", "updates", "tasks", "debug", "messages", "custom"]
SHOWING: list[Any] = ["values", "updates", "tasks", "debug", MODES]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


class Questioner:
    """The process that forks for each job."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "torture.questioner"],
                cwd=TESTS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    def does(self, job: dict[str, Any]) -> int:
        """How the child of a job ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def said(self) -> str:
        """What went wrong."""
        return self._errors.read_text(encoding="utf-8")

    def close(self) -> None:
        """Ends it."""
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def questioner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Questioner]:
    """One for all tests."""
    made = Questioner(tmp_path_factory.mktemp("questioner") / "errors")
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Stores, each of them new."""
    if request.param == "sqlite":
        return (f"sqlite:{tmp_path}/{number}.db" for number in itertools.count())
    server = request.getfixturevalue("postgres")
    return (server.database() for _ in itertools.count())


def check(questioner: Questioner, job: dict[str, Any]) -> Counter[str]:
    """One process is killed, another one answers; gives how often each thing was done."""
    assert questioner.does({**job, "do": "show"}) == -signal.SIGKILL, questioner.said()
    assert questioner.does({**job, "do": "resume"}) == 0, questioner.said()
    return Counter(Path(job["world"]).read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("face", ["graph", "agraph"])
def test_a_graph_that_is_killed_when_it_shows_a_question(
    questioner: Questioner, store: Iterator[str], tmp_path: Path, face: str, durability: str
) -> None:
    chance = random.Random(f"{face} {durability}")
    cases = list(itertools.product(SHOWING, [False, True]))
    chance.shuffle(cases)
    for number in range(rounds(1, 60)):
        modes, nested = cases[number % len(cases)]
        job = {
            "face": face,
            "url": next(store),
            "world": str(tmp_path / f"world{number}"),
            "durability": durability,
            "modes": modes,
            "nested": nested,
            "pause": chance.choice([0, 0.002, 0.02]),
        }
        done = check(questioner, job)
        # It was killed in the middle of its call, perhaps: with `exit` nothing is known of that.
        assert done.pop("beside", 0) <= (2 if durability == "exit" else 1)
        assert done == {"first": 1, "before": 1}


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("face", ["team", "ateam"])
@pytest.mark.parametrize("kind", ["asks", "calls", "declared"])
def test_a_team_that_is_killed_when_it_shows_a_question(
    questioner: Questioner, store: Iterator[str], tmp_path: Path, face: str, durability: str,
    kind: str,
) -> None:  # fmt: skip
    actions = {"first": 1} if kind == "asks" else {"first": 1, "paid": 1}
    for number in range(rounds(1, 40)):
        job = {
            "face": face,
            "url": next(store),
            "world": str(tmp_path / f"world{number}"),
            "durability": durability,
            "kind": kind,
        }
        assert check(questioner, job) == actions


@pytest.mark.parametrize("durability", DURABILITIES)
def test_every_question_that_a_killed_run_lists_can_be_answered(
    questioner: Questioner, store: Iterator[str], tmp_path: Path, durability: str
) -> None:
    chance = random.Random(durability)
    world = tmp_path / "world"
    for _ in range(rounds(3, 100)):
        job = {
            "url": next(store),
            "world": str(world),
            "durability": durability,
            "pause": chance.choice([0, 0.002, 0.005]),
            "after": chance.uniform(0.001, 0.06),
        }
        ended = questioner.does({**job, "do": "pause"})
        assert ended in (0, -signal.SIGALRM), questioner.said()
        assert questioner.does({**job, "do": "answer"}) == 0, questioner.said()
