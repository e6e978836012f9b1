"""A process that researches is killed, and another one goes on: no step or page is done twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

from systems.lost_process import run_victim
from systems.lost_research import TEAS

VICTIM = Path(__file__).with_name("lost_research.py")
NOTES_OF_A_STEP = 3
"""A search, a page, an observation."""


def run(folder: Path, dies_at: int) -> tuple[int, dict[str, Any] | None]:
    return run_victim(VICTIM, folder, "runs.db", "journal", dies_at)


def test_a_killed_research_goes_on_with_the_third_of_four_steps(tmp_path: Path) -> None:
    """DR-35 of docs/systems/deep-research.md, with a process."""
    code, _ = run(tmp_path, dies_at=1 + 2 * NOTES_OF_A_STEP + 1)
    assert code == -signal.SIGKILL
    code, result = run(tmp_path, dies_at=0)
    assert code == 0
    assert result is not None
    assert result["outcome"] == "answered", result["error"]
    texts = [f"{tea} tea was read about." for tea in TEAS]
    assert [one["text"] for one in result["observations"]] == texts
    assert all(f"{tea}.md" in result["answer"] for tea in TEAS)
    journal = Counter((tmp_path / "journal").read_text(encoding="utf-8").splitlines())
    # The search that was under way is made again; it changes nothing.
    assert journal.pop("search white") == 2
    assert set(journal.values()) == {1}, journal
    assert journal.keys() >= {f"observe {tea}" for tea in TEAS}
