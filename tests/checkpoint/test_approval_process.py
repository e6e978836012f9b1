"""Processes that end while a person is asked: others continue, and nothing happens twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APPROVER = Path(__file__).with_name("approval_process.py")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="elsewhere a thread is free only after its term"
)


def process(folder: Path, who: str, what: Any) -> Any:
    """What one process prints; the one that begins kills itself."""
    job = what if what == "begin" else json.dumps(what)
    given = [f"sqlite:{folder}/runs.db", str(folder / "world"), who, job]
    command = [sys.executable, str(APPROVER), *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (-9 if what == "begin" else 0), done.stderr
    return json.loads(done.stdout)


def actions(folder: Path) -> list[str]:
    """What was done, in order."""
    lines = (folder / "world").read_text(encoding="utf-8").splitlines()
    return [line.rpartition(" ")[0] for line in lines]


def test_a_declared_agent_resumes_in_another_process_and_pays_once(tmp_path: Path) -> None:
    asked = process(tmp_path, "declared", "begin")
    assert [question["arguments"] for question in asked] == [{"cents": 5}, {"cents": 7}]
    assert actions(tmp_path) == ["model", "note"]
    no = {"approve": False, "reason": "once"}
    came = process(tmp_path, "declared", [{"approve": True, "args": {"cents": 6}}, no])
    assert came["outcome"] == "answered"
    noted, paid, refused = came["answer"].split(" | ")
    assert (noted, paid.rpartition("\n")[2]) == ("note done", "pay 6 done")
    assert refused.endswith("was not called: once")
    assert actions(tmp_path) == ["model", "note", "pay 6", "model"]


def test_answers_of_which_one_decides_nothing_change_nothing(tmp_path: Path) -> None:
    process(tmp_path, "declared", "begin")
    folder = tmp_path / "world"
    before = folder.read_text(encoding="utf-8")
    bad = [
        f"sqlite:{tmp_path}/runs.db",
        str(folder),
        "declared",
        json.dumps([True, "perhaps"]),
    ]
    done = subprocess.run(
        [sys.executable, str(APPROVER), *bad], capture_output=True, text=True, check=False
    )
    assert "approval_invalid" in done.stderr or "neither approves nor rejects" in done.stderr
    assert folder.read_text(encoding="utf-8") == before
    came = process(tmp_path, "declared", [True, True])
    assert came["outcome"] == "answered"
    assert actions(tmp_path) == ["model", "note", "pay 5", "pay 7", "model"]


def test_a_call_of_an_agents_code_resumes_in_another_process_and_pays_once(tmp_path: Path) -> None:
    (question,) = process(tmp_path, "own", "begin")
    assert question["tool"] == "pay"
    assert actions(tmp_path) == ["note"]
    came = process(tmp_path, "own", [True])
    assert came == {"outcome": "answered", "answer": "note done | pay 5 done"}
    assert actions(tmp_path) == ["note", "pay 5"]
