"""A real model on this machine plans a task over documents and files, and carries it out."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from antiphon.systems import PlanExecute
from antiphon.tools import document_search, write_pdf
from cli.conftest import environment
from local.conftest import real_weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.local_model

DOCUMENTS = {
    "ferry.md": (
        "# Ferry to Morsk\n\nThe ferry to Morsk leaves at the north pier.\n\n"
        "A single fare to Morsk costs 46 crowns.\n"
    ),
    "lighthouse.md": "# The old lighthouse\n\nThe old lighthouse was found by Mira Solberg.\n",
    "tea.md": "# Green tea\n\nOne cup of green tea needs 3 grams of leaves.\n",
}


FARES = (
    "How much do 12 single fares to Morsk cost, in crowns? Look up the fare, calculate, and write "
    "the result into fares.pdf."
)


def command(*arguments: str) -> subprocess.Popen[str]:
    """A process with a command, and a pipe for each of its outputs."""
    return subprocess.Popen(
        [sys.executable, "-m", "antiphon", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def beginning(lines: Sequence[str], start: str) -> list[str]:
    """The rest of each line that begins so."""
    return [line.removeprefix(start).strip() for line in lines if line.startswith(start)]


def text_of(folder: Path, name: str, cache: Path) -> str:
    """The words of a file."""
    _, read = document_search(folder, cache=cache).tools
    return " ".join(read.call({"path": name})["text"].split())


def test_a_killed_task_of_a_small_local_model_is_resumed_to_its_calculated_file(
    tmp_path: Path,
) -> None:
    real_weights("qwen2.5-coder:1.5b")
    docs, workspace = tmp_path / "docs", tmp_path / "workspace"
    docs.mkdir()
    for name, text in DOCUMENTS.items():
        (docs / name).write_text(text, encoding="utf-8")
    store = ("--store", f"sqlite:{tmp_path / 'runs.db'}")
    options = ("--model", "local:1.5b", "--docs", str(docs), "--workspace", str(workspace), *store)
    asked = ("ask", FARES, "--system", "plan-execute", "--thread", "fares", *options)
    said: list[str] = []
    with command(*asked) as victim:
        assert victim.stderr is not None
        for line in victim.stderr:
            said.append(line)
            if line.startswith("stage 3: "):
                victim.send_signal(signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL, said
    planned = beginning(said, "    stage ")
    tools = [line.split(": ")[1] for line in planned]
    assert tools[0] == "search_documents"
    assert tools[-2:] == ["CalculatorTool", "FileSystemTool"]
    steps = [line.split(": ", 2)[2] for line in planned]
    assert beginning(said, "  done: ") == steps[:2]
    assert not (workspace / "fares.pdf").exists()

    with command("runs", "resume", "fares", "--team", "plan-execute", *options) as resumed:
        answer, errors = resumed.communicate()
    lines = errors.splitlines()
    assert (resumed.returncode, "552" in answer) == (0, True), (answer, errors)
    started = [f"{number}: {step}" for number, step in enumerate(steps, 1)]
    assert beginning(said, "stage ") == started[:3]
    # The step that ended just before the kill may not have been stored yet.
    assert beginning(lines, "stage ") in (started[2:], started[1:])
    assert beginning(lines, "  done: ") in (steps[2:], steps[1:])
    assert "552" in text_of(workspace, "fares.pdf", tmp_path / "written")


def test_a_small_local_model_finds_a_fact_and_writes_it_into_a_file(tmp_path: Path) -> None:
    real_weights("qwen2.5-coder:1.5b")
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    out.mkdir()
    for name, text in DOCUMENTS.items():
        (docs / name).write_text(text, encoding="utf-8")
    tools = [document_search(docs, cache=tmp_path / "cache"), write_pdf(out)]
    system = PlanExecute("local:1.5b", tools=tools, max_revisions=0)
    result = system.run("Where does the ferry to Morsk leave? Write it into ferry.pdf.")
    assert (result.outcome, result.status) == ("answered", "COMPLETED"), result.to_json(indent=1)
    assert result.answer is not None
    assert "north pier" in result.answer
    assert all(step.status == "COMPLETED" for step in result.executed_plan)
    assert [path.name for path in out.iterdir()] == ["ferry.pdf"]
    assert "north pier" in text_of(out, "ferry.pdf", tmp_path / "written")
    names = [event.name for event in result.events if event.kind == "custom"]
    assert (names[0], names[-1]) == ("TASK_RECEIVED", "TASK_COMPLETED_SUCCESSFULLY")
    assert result.events[-1].kind == "run_finished"
