"""A process that answers a question about data is killed, and another one goes on."""

from __future__ import annotations

import signal
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from systems.lost_process import BY_CLOCK, run_victim

VICTIM = Path(__file__).with_name("lost_analysis.py")
STEPS = (
    "planner",
    "sql_writer",
    "sql_reviewer",
    "sql_answerer",
    "api_planner",
    "write",
    "api_answerer",
    "composer",
)


def make_shop(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
        connection.executescript(
            "CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1), (2), (3);"
        )
    connection.close()


def run(folder: Path, dies_at: int, *more: object) -> tuple[int, dict[str, Any] | None]:
    return run_victim(
        VICTIM, folder, "runs.db", "journal", "shop.db", dies_at, *more, signals=BY_CLOCK
    )


@pytest.mark.slow
@pytest.mark.parametrize("dies_at", range(1, len(STEPS) + 1), ids=STEPS)
def test_a_killed_question_goes_on_without_repeating_an_effect(
    tmp_path: Path, dies_at: int
) -> None:
    """DA-41 of `docs/systems/data-analyst.md`."""
    make_shop(tmp_path)
    code, _ = run(tmp_path, dies_at)
    assert code == -signal.SIGKILL
    code, result = run(tmp_path, 0)
    assert code == 0
    assert result is not None
    journal = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    asked = Counter(line.split()[0] for line in journal)
    assert asked["write"] == 1, "no call is made twice"
    lost = STEPS[dies_at - 1]
    again = {name for name, count in asked.items() if count > 1}
    assert result["outcome"] == "answered"
    if lost == "write":
        # Nobody knows what came of the call: it is a failed one, and an answer that tells of its
        # result is asked for again.
        assert again == {"composer"}
        assert result["metadata"]["partial"] is True
        assert result["agent_results"][1]["status"] == "failed"
    else:
        assert again <= {lost}, "only what was lost is asked for again"
        assert result["answer"] == "Report 7 was made of 3 orders."


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("seed", range(5))
def test_a_question_that_is_killed_twice_anywhere_goes_on(
    tmp_path: Path, seed: int, durability: str
) -> None:
    """DA-41 of `docs/systems/data-analyst.md`."""
    make_shop(tmp_path)
    random = Random(f"analysis {seed} {durability}")
    for _ in range(2):
        run(tmp_path, 0, random.uniform(0.0005, 0.06), durability)
    code, result = run(tmp_path, 0, 0, durability)
    assert code == 0
    assert result is not None
    journal = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    written = sum(line.startswith("write ") for line in journal)
    assert result["outcome"] == "answered"
    report, partial = result["agent_results"][1], result["metadata"]["partial"]
    if report["status"] == "failed":
        # It died between storing that the call begins and its end, before or after the effect.
        assert written <= 1, "no call is made twice"
        assert (report["error"]["details"].get("code"), partial) == ("unknown_outcome", True)
    else:
        assert written == 1
        assert (result["answer"], partial) == ("Report 7 was made of 3 orders.", False)
