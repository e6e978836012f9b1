"""The questions, and an evaluation of a scripted model that is killed and continues."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.systems import Computation
from eval.asking import Reply, ask_command, ask_table
from eval.command import evaluate, main
from eval.loading import Question, load
from eval.results import read, summary, table
from eval.scoring import score
from eval.tables import TABLES, frame

if TYPE_CHECKING:
    from pathlib import Path


def test_there_are_enough_questions_of_each_kind_and_a_third_at_most_is_held_out() -> None:
    asks, tables = (load(name) for name in ("ask", "tables"))
    assert len(asks) >= 60
    assert len(tables) >= 40
    kinds = Counter(question.kind for question in asks)
    assert set(kinds) == {
        "fact", "arithmetic", "date", "two_steps", "language", "unanswerable", "file"
    }  # fmt: skip
    assert min(kinds.values()) >= 8
    held = [question for question in asks + tables if question.held_out]
    assert 0.22 <= len(held) / len(asks + tables) <= 0.33
    assert {question.kind for question in held} >= set(kinds)
    assert all(question.table in TABLES for question in tables)


def test_the_known_answers_score_as_right() -> None:
    for question in [*load("ask"), *load("tables")]:
        expected = question.expected
        answer = expected.get("text", [expected.get("date", expected.get("number"))])[0]
        outcome = "no_answer" if expected.get("abstain") else "answered"
        assert score(expected, outcome, str(answer)) == "right", question.id


def test_the_known_answers_on_tables_are_those_of_pandas() -> None:
    shop, weather, staff = map(frame, ("shop", "weather", "staff"))
    library = frame("library")
    fees = library["late fee [€]"]
    oslo = weather[weather["city"] == "Oslo"]
    known: dict[str, Any] = {
        "What is the total of the net price of all orders, in euros?": shop[
            "net price (EUR)"
        ].sum(),
        "What is the mean quantity per order?": shop["QTY"].mean(),
        "What is the median salary, in thousands of dollars?": staff["salary_kusd"].median(),
        "How many measurements of the temperature are missing?": weather["temp_c"].isna().sum(),
        "How many people were hired after 2015?": (staff["hired"] > 2015).sum(),
        "What is the mean late fee of those loans whose late fee is above zero, in euros?": fees[
            fees > 0
        ].mean(),
        "How many different members have borrowed a crime book?": library.loc[
            library["genre of book"] == "crime", "Member"
        ].nunique(),
        "What percentage of all the rain in the table fell in Bergen?": 100
        * weather.loc[weather["city"] == "Bergen", "rain_mm"].sum()
        / weather["rain_mm"].sum(),
    }
    asked = {question.question: question.expected for question in load("tables")}
    for question, value in known.items():
        assert score(asked[question], "answered", str(value)) == "right", question
    assert oslo["temp_c"].mean() == pytest.approx(7.333, abs=0.001)


def test_lines_that_are_no_questions_are_refused(tmp_path: Path) -> None:
    row = {"id": "a", "kind": "fact", "question": "?", "expected": {"numbr": 1}}
    (tmp_path / "ask.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match="a of `ask` has no usable answer"):
        load("ask", tmp_path)
    row["expected"] = {"number": 1}
    (tmp_path / "ask.jsonl").write_text((json.dumps(row) + "\n") * 2)
    with pytest.raises(ValueError, match="same id"):
        load("ask", tmp_path)


def questions() -> list[Question]:
    return [
        Question("a", "fact", "One?", {"number": 1}),
        Question("b", "fact", "Two?", {"number": 2}, held_out=True),
        Question("c", "fact", "Three?", {"number": 3}),
    ]


def test_a_killed_evaluation_continues_with_the_question_that_it_lost(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    said: list[str] = []
    seen: list[str] = []

    def ask(question: Question) -> Reply:
        seen.append(question.id)
        return Reply("answered", "2")

    evaluate("ask", questions()[:2], ask, path, said.append)
    with path.open("a") as torn:
        torn.write('{"set": "ask", "id": "c"')
    rows = evaluate("ask", questions(), ask, path, said.append)
    assert seen == ["a", "b", "c"]
    assert [row.verdict for row in rows] == ["wrong", "right", "wrong"]
    assert read(path) == rows
    assert "Two?" not in "".join(said)
    shares = summary(rows)["ask"]
    assert (shares["questions"], shares["right"], shares["wrong"]) == (3, 0.333, 0.667)
    assert "held out" in table("scripted", rows)


def test_an_exception_is_an_error_of_its_question_alone(tmp_path: Path) -> None:
    def ask(question: Question) -> Reply:
        if question.id == "a":
            raise RuntimeError("no answer today")
        return Reply("answered", "3")

    rows = evaluate("ask", questions(), ask, tmp_path / "rows.jsonl", str)
    assert [row.verdict for row in rows] == ["error", "wrong", "right"]
    assert rows[0].note == "RuntimeError: no answer today"


def test_a_computation_is_evaluated_on_its_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    plan = {"reasoning": "", "python": "result = len(shop)", "explain": ""}
    words = {"answer": "There are 12 orders.", "highlights": []}
    computation = Computation(scripted([{"json": plan}, {"json": words}]))
    ask = ask_table(computation)
    rows = evaluate("tables", load("tables")[:1], ask, tmp_path / "rows.jsonl", str)
    assert [(row.verdict, row.note) for row in rows] == [("right", "")]


def test_a_command_that_cannot_answer_is_an_error() -> None:
    reply = ask_command("nobody:nothing", 60)(questions()[0])
    assert reply.outcome == "error"
    assert "nobody" in reply.note


def test_arguments_that_mean_nothing_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--every", "0"])
    assert "`--every` must be at least 1: 0" in capsys.readouterr().err
