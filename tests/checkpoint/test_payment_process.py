"""Processes that die between an effect and what is known of it (EN-12, EN-23)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PAYER = Path(__file__).with_name("payment_process.py")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


class World:
    """What was done, and the processes that did it."""

    def __init__(self, folder: Path, what: str, durability: str) -> None:
        self._folder = folder
        self._what = what
        self._durability = durability

    def run(self, dies: str = "") -> Any:
        """One process; nothing if it dies."""
        arguments = [f"sqlite:{self._folder}/runs.db", str(self._world), self._what]
        command = [sys.executable, str(PAYER), *arguments, self._durability, dies]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode == -9) == bool(dies), done.stderr
        return None if dies else json.loads(done.stdout)

    @property
    def _world(self) -> Path:
        return self._folder / "world"

    @property
    def actions(self) -> list[str]:
        """What was done, in order."""
        return [line.rpartition(" ")[0] for line in self._world.read_text().splitlines()]

    def keys(self, action: str) -> list[str]:
        """The keys under which it was done."""
        split = [line.rpartition(" ") for line in self._world.read_text().splitlines()]
        return [key for name, _, key in split if name == action]


@pytest.fixture(params=["sync", "async"])
def durability(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("what", ["steps", "asteps"])
def test_a_step_of_unknown_outcome_is_not_repeated(
    tmp_path: Path, what: str, durability: str
) -> None:
    """Prove EN-12 of docs/engine.md."""
    world = World(tmp_path, what, durability)
    world.run(dies="three")
    for _ in range(2):
        came = world.run()
        assert came["code"] == "unknown_outcome"
        assert came["details"]["step"] == "three"
        assert came["details"]["idempotency_key"] == world.keys("three")[0]
    counts = Counter(world.actions)
    assert counts["three"] == 1
    # The second process has failed: what may be repeated is tried again after that.
    assert counts["one"] == (1 if what == "steps" else 2)


@pytest.mark.parametrize("what", ["steps", "asteps"])
def test_a_step_that_may_be_repeated_is_repeated_under_its_key(tmp_path: Path, what: str) -> None:
    world = World(tmp_path, what, "sync")
    world.run(dies="two")
    assert world.run()["answer"] == ["one done", "two done", "three done"]
    counts = Counter(world.actions)
    assert (counts["two"], counts["three"]) == (2, 1)
    # Side by side, the first may have been done and not known yet.
    assert counts["one"] in ({1} if what == "steps" else {1, 2})
    first, second = world.keys("two")
    assert first == second
    assert len({*world.keys("one"), first, *world.keys("three")}) == 3


def test_a_payment_is_not_made_twice(tmp_path: Path, durability: str) -> None:
    """Prove EN-12 of docs/engine.md."""
    world = World(tmp_path, "cashier", durability)
    world.run(dies="pay 2")
    came = world.run()
    assert came["code"] == "unknown_outcome"
    assert came["details"]["tool"] == "pay"
    assert world.actions == ["pay 1", "model", "pay 2"]


def test_what_was_done_and_said_before_is_known(tmp_path: Path) -> None:
    world = World(tmp_path, "cashier", "sync")
    world.run(dies="send")
    assert world.run()["answer"] == "pay 1 done, model done, pay 2 done, send done"
    assert world.actions == ["pay 1", "model", "pay 2", "send", "send"]
    assert len(set(world.keys("send"))) == 1
    assert len({*world.keys("pay 1"), *world.keys("pay 2")}) == 2


@pytest.mark.parametrize("what", ["steps", "cashier", "declared"])
def test_what_is_not_durable_yet_is_not_done_twice_either(tmp_path: Path, what: str) -> None:
    world = World(tmp_path, what, "async")
    world.run(dies="two" if what == "steps" else "send")
    came = world.run()
    # What came last may have been lost; then nobody knows what came of it.
    assert "answer" in came or came["code"] == "unknown_outcome"
    counts = Counter(world.actions)
    assert all(counts[action] <= 1 for action in ("one", "three", "pay 1", "pay 2", "pay 5"))


def test_an_agent_may_look_up_an_unknown_outcome(tmp_path: Path, durability: str) -> None:
    world = World(tmp_path, "careful", durability)
    world.run(dies="pay 1")
    assert world.run()["answer"] == "pay: done"
    assert world.actions == ["pay 1"]


def test_a_declared_agent_does_not_call_again_what_has_returned(tmp_path: Path) -> None:
    """Prove EN-23 of docs/engine.md."""
    world = World(tmp_path, "declared", "sync")
    world.run(dies="send")
    assert world.run()["answer"] == "send done"
    assert world.actions == ["model 0", "pay 5", "model 1", "send", "send", "model 2"]
    assert len(set(world.keys("send"))) == 1


def test_a_declared_agent_does_not_pay_twice(tmp_path: Path, durability: str) -> None:
    """Prove EN-12 of docs/engine.md."""
    world = World(tmp_path, "declared", durability)
    world.run(dies="pay 5")
    came = world.run()
    assert (came["code"], came["details"]["tool"]) == ("unknown_outcome", "pay")
    assert came["details"]["idempotency_key"] == world.keys("pay 5")[0]
    assert world.actions == ["model 0", "pay 5"]
