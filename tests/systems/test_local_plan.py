"""A real model on this machine plans a task over documents and files, and carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from antiphon.systems import PlanExecute
from antiphon.tools import document_search, write_pdf
from local.conftest import real_weights

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.local_model


def test_a_small_local_model_carries_out_a_task_or_says_why_not(tmp_path: Path) -> None:
    real_weights("qwen2.5-coder:1.5b")
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    out.mkdir()
    (docs / "tea.md").write_text("# Green tea\n\nOne cup of green tea needs 3 grams of leaves.\n")
    tools = [document_search(docs, cache=tmp_path / "cache"), write_pdf(out)]
    task = "How many grams of leaves does a cup of green tea need? Write it into tea.pdf."
    system = PlanExecute("local:1.5b", tools=tools, max_revisions=0, question_timeout_s=50)
    result = system.run(task)
    assert result.final_answer, "an answer, or an explanation"
    written = [step for step in result.executed_plan if step.step.tool_name == "FileSystemTool"]
    is_written = any(step.status == "COMPLETED" for step in written)
    assert (out / "tea.pdf").exists() is is_written
    if result.status == "COMPLETED":
        assert all(step.status == "COMPLETED" for step in result.executed_plan)
    names = [event.name for event in result.events if event.kind == "custom"]
    assert names[0] == "TASK_RECEIVED"
    assert result.events[-1].kind == "run_finished"
