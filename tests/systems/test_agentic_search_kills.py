"""A process that searches is killed, and another one goes on: AS-28, no effect happens twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from systems.lost_process import BY_CLOCK, run_victim

VICTIM = Path(__file__).with_name("lost_search.py")


def run(folder: Path, dies_at: int, *more: object) -> tuple[int, dict[str, Any] | None]:
    return run_victim(VICTIM, folder, "runs.db", "journal", dies_at, *more, signals=BY_CLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 5])
def test_a_killed_search_goes_on_without_repeating_an_effect(tmp_path: Path, dies_at: int) -> None:
    """AS-28 of docs/systems/agentic-search.md."""
    code, _ = run(tmp_path, dies_at)
    assert code == -signal.SIGKILL
    code, result = run(tmp_path, 0)
    assert code == 0
    assert result is not None
    journal = Counter((tmp_path / "journal").read_text(encoding="utf-8").splitlines())
    effects = {line: count for line, count in journal.items() if line.startswith("write")}
    assert set(effects.values()) <= {1}, "no call is made twice"
    assert "write b" in effects or dies_at > 1
    tasks = result["execution_plan"]["tasks"]
    written = {task["tool_arguments"]["text"] for task in tasks if task["status"] == "completed"}
    lost = [task for task in tasks if task["status"] == "failed"]
    assert len(written) + len(lost) == 3
    for task in lost:
        assert task["error"]["type"] in ("UnknownOutcome", "DependencyFailed")
    if dies_at == 1:
        assert not lost, "the planner is asked again, and everything happens once"
    if dies_at == 5:
        assert result["answer"] == "3 written, 0 lost"
        assert journal["planner 1"] == 1, "the plan is not asked for again"


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("seed", range(5))
def test_a_search_that_is_killed_twice_anywhere_goes_on(
    tmp_path: Path, seed: int, durability: str
) -> None:
    """AS-28 of docs/systems/agentic-search.md."""
    random = Random(f"search {seed} {durability}")
    for _ in range(2):
        run(tmp_path, 0, random.uniform(0.0005, 0.06), durability)
    code, result = run(tmp_path, 0, 0, durability)
    assert code == 0
    assert result is not None
    journal = Counter((tmp_path / "journal").read_text(encoding="utf-8").splitlines())
    tasks = result["execution_plan"]["tasks"]
    # Nobody knows whether the effect of a call that was begun has happened; it has failed then.
    lost = [task["status"] for task in tasks].count("failed")
    written = sum(count for line, count in journal.items() if line.startswith("write"))
    assert all(count == 1 for line, count in journal.items() if line.startswith("write"))
    assert len(tasks) - lost <= written <= len(tasks), "no call is made twice, or forgotten"
    assert {task["status"] for task in tasks} <= {"completed", "failed"}
