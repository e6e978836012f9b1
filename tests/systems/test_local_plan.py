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

DOCUMENTS = {
    "ferry.md": "# Ferry to Morsk\n\nThe ferry to Morsk leaves at the north pier.\n",
    "lighthouse.md": "# The old lighthouse\n\nThe old lighthouse was found by Mira Solberg.\n",
    "tea.md": "# Green tea\n\nOne cup of green tea needs 3 grams of leaves.\n",
}


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
    _, read = document_search(out, cache=tmp_path / "written").tools
    assert "north pier" in " ".join(read.call({"path": "ferry.pdf"})["text"].split())
    names = [event.name for event in result.events if event.kind == "custom"]
    assert (names[0], names[-1]) == ("TASK_RECEIVED", "TASK_COMPLETED_SUCCESSFULLY")
    assert result.events[-1].kind == "run_finished"
