"""A person is asked in one process, and the answer is given in another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROCESS = Path(__file__).with_name("paused_process.py")
TESTS = str(Path(__file__).parents[1])
CALL = {"method": "POST", "path": "/v1/reports", "path_parameters": {}, "headers": {}}


def process(folder: Path, what: str, answer: Any) -> dict[str, Any]:
    """What one process prints."""
    given = answer if answer == "begin" else json.dumps(answer)
    store, journal = f"sqlite:{folder}/runs.db", str(folder / "journal")
    command = [sys.executable, str(PROCESS), store, journal, what, given]
    environment = {**os.environ, "PYTHONPATH": TESTS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def journal(folder: Path) -> list[str]:
    """What was asked and called in all processes, in order."""
    return (folder / "journal").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("answer", "written", "said"),
    [
        (True, ["write POST /v1/reports {}"], "Report 7 was made."),
        (
            {"approve": True, "args": {**CALL, "query": {"day": "1"}}},
            ['write POST /v1/reports {"day": "1"}'],
            "Report 7 was made.",
        ),
        (False, [], "It was not made."),
    ],
)
def test_a_call_of_the_api_is_approved_in_another_process(
    tmp_path: Path, answer: Any, written: list[str], said: str
) -> None:
    """DA-51 of `docs/systems/data-analyst.md`."""
    paused = process(tmp_path, "approval", "begin")
    assert paused["outcome"] == "paused"
    assert paused["questions"][0]["tool"] == "api_write"
    assert [line.split()[0] for line in journal(tmp_path)] == ["api_planner"]
    found = process(tmp_path, "approval", answer)
    assert found["answer"] == said
    assert [line for line in journal(tmp_path) if line.startswith("write")] == written
    planned = [line for line in journal(tmp_path) if line.startswith("api_planner")]
    assert len(planned) == 1, "the plan is not asked for again"


def test_a_search_is_told_in_another_process_what_its_question_means(tmp_path: Path) -> None:
    """AS-34 of `docs/systems/agentic-search.md`."""
    paused = process(tmp_path, "clarification", "begin")
    assert (paused["outcome"], paused["questions"]) == ("paused", ["Which city?"])
    found = process(tmp_path, "clarification", "Lyon")
    assert (found["outcome"], found["answer"]) == ("answered", "520,774")
    names = ["planner None", "planner Lyon", "count Lyon"]
    assert journal(tmp_path)[:3] == names
    assert len(journal(tmp_path)) == 4
