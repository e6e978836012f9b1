"""A real model on this machine searches a folder of documents, and names its source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from antiphon.cli import main
from local.conftest import real_weights

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.local_model

QUESTION = "How many grams of leaves does a cup of green tea need?"


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "tea.md").write_text("# Green tea\n\nA cup of green tea needs 3 grams of leaves.\n")
    (folder / "coffee.md").write_text("# Coffee\n\nA cup of coffee needs 7 grams of beans.\n")
    return folder


def test_a_search_answers_from_a_document(
    handbook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real_weights("qwen2.5-coder:1.5b")
    given = ("--docs", str(handbook), "--model", "local:1.5b", "--json")
    assert main(["ask", QUESTION, "--system", "agentic-search", *given]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "3" in found["answer"]
    assert "tea.md" in json.dumps(found["sources"])
    assert found["usage"]["model_calls"] == 2
