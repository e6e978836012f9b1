"""A process that carries out a task is killed, and another one goes on: no effect happens twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from systems.lost_process import run_victim

VICTIM = Path(__file__).with_name("lost_plan.py")


def run(folder: Path, dies_at: int) -> tuple[int, dict[str, Any] | None]:
    return run_victim(VICTIM, folder, "runs.db", "journal", dies_at)


@pytest.mark.slow
@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 5, 6])
def test_a_killed_task_goes_on_without_repeating_an_effect(tmp_path: Path, dies_at: int) -> None:
    """PE-26 of docs/systems/plan-execute.md."""
    code, _ = run(tmp_path, dies_at)
    assert code == -signal.SIGKILL
    code, result = run(tmp_path, 0)
    assert code == 0
    assert result is not None
    journal = Counter((tmp_path / "journal").read_text(encoding="utf-8").splitlines())
    effects = {line: count for line, count in journal.items() if line.startswith("write")}
    assert set(effects.values()) <= {1}, "no call is made twice"
    if dies_at == 1:
        assert result["answer"] == "5 written", "the planner is asked again"
    else:
        assert journal["planner plans"] == 1, "the plan is not asked for again"
    lost = [step for step in result["executed_plan"] if step["status"] == "FAILED"]
    for step in lost:
        assert step["error"]["type"] == "UnknownOutcome"
    assert lost or result["answer"] == "5 written"
    (note,) = [step for step in result["executed_plan"] if step["step"]["step_id"] == "note"]
    noted = tmp_path / "notes" / "all.txt"
    text = noted.read_text(encoding="utf-8") if noted.exists() else ""
    assert text == "a!\n" if note["status"] == "COMPLETED" else text in ("", "a!\n")


@pytest.mark.slow
def test_a_result_that_was_saved_and_not_delivered_is_delivered_by_another_process(
    tmp_path: Path,
) -> None:
    """PE-26 of docs/systems/plan-execute.md."""
    code, _ = run(tmp_path, dies_at=7)
    assert code == -signal.SIGKILL, "the process dies with the result in its hands"
    before = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    assert before[-1] == "result answered"
    code, result = run(tmp_path, 0)
    assert code == 0
    assert result is not None
    assert (result["answer"], result["status"]) == ("5 written", "COMPLETED")
    after = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    assert after == [*before, "result answered"], "nobody is asked and nothing is called again"
    assert (tmp_path / "notes" / "all.txt").read_text(encoding="utf-8") == "a!\n"
