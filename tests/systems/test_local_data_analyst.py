"""A real model on this machine answers questions about a table, with no server of any kind."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from antiphon.cli import main
from antiphon.systems import DataAnalyst
from local.conftest import real_weights

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.local_model

PENGUINS = pd.DataFrame(
    {
        "species": ["Adelie", "Adelie", "Gentoo", "Gentoo", "Gentoo", "Chinstrap"],
        "island": ["Dream", "Biscoe", "Biscoe", "Biscoe", "Biscoe", "Dream"],
        "body_mass_g": [3700, 3650, 5000, 5250, 4900, 3800],
    }
)
QUESTIONS = {
    "How many penguins are there?": 6,
    "What is the largest body mass, in grams?": 5250,
    "How many penguins of the species Gentoo are there?": 3,
}
ENOUGH = 2
"""How many of them the model has to get right: it had all three, and processors differ."""


def test_a_small_model_queries_a_frame() -> None:
    real_weights("qwen2.5-coder:1.5b")
    analyst = DataAnalyst("local:1.5b", frames={"penguins": PENGUINS}, question_timeout_s=200)
    right = {}
    for question, expected in QUESTIONS.items():
        result = analyst.run(question)
        assert result.answer or result.explanation, result.to_json(indent=1)
        rows = result.data.rows if result.data is not None else []
        right[question] = [list(row.values()) for row in rows] == [[expected]], result.sql
        if result.outcome == "answered":
            assert result.sql
        assert result.events[-1].kind == "run_finished"
    assert sum(fine for fine, _ in right.values()) >= ENOUGH, right


def test_the_command_answers_from_a_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real_weights("qwen2.5-coder:1.5b")
    path = tmp_path / "penguins.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        PENGUINS.to_sql("penguins", connection, index=False)
    question = "How many penguins are there?"
    given = ("--system", "data-analyst", "--db", str(path), "--model", "local:1.5b", "--json")
    assert main(["ask", question, *given]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(row.values()) for row in found["data"]["rows"]] == [[6]], found
    assert "6" in found["answer"]
