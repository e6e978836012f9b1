"""The option ``--db``: a database, or a file of a table, that a system may query."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from cli.role_server import RoleServer

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Antiphon

COUNT = {"sql": "SELECT count(*) AS n FROM orders"}
REPLIES: dict[str, Any] = {
    "query": COUNT,
    "review": COUNT,
    "answer": {"answer": "There are 2 orders."},
}
QUESTION = ("ask", "--system", "data-analyst", "How many orders are there?")


@pytest.fixture(params=["orders.db", "orders.csv", "orders.tsv", "orders.parquet"])
def orders(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Two orders, in a file of each kind."""
    path: Path = tmp_path / request.param
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE orders AS SELECT 1 AS id UNION SELECT 2")
    elif path.suffix == ".parquet":
        frame = pytest.importorskip("polars").DataFrame({"id": [1, 2], "net_eur": [10.5, None]})
        frame.write_parquet(path)
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        path.write_text(f"id{separator}net_eur\n1{separator}10.5\n2{separator}\n")
    return path


def test_a_question_is_answered_from_a_file(orders: Path, antiphon: Antiphon) -> None:
    with RoleServer(**REPLIES) as server:
        done = antiphon(*QUESTION, "--db", str(orders), url=server.url)
        read = json.dumps(server.bodies)
    assert (done.returncode, done.stdout) == (0, "There are 2 orders.\n"), done.stderr
    lines = done.stderr.splitlines()
    assert f"query: {COUNT['sql']}" in lines
    told = [line for line in lines if line.startswith("  ") and not line.startswith("  tool ")]
    assert told == ["  agents: sql", f"  sql: query: {COUNT['sql']}", "  sql: rows: 1"]
    assert "Table orders (2 rows)" in read


def test_the_object_has_query_and_rows(orders: Path, antiphon: Antiphon) -> None:
    with RoleServer(**REPLIES) as server:
        done = antiphon(*QUESTION, "--db", str(orders), "--json", url=server.url)
    found = json.loads(done.stdout)
    assert (found["answer"], found["sql"]) == ("There are 2 orders.", COUNT["sql"])
    assert found["data"]["rows"] == [{"n": 2}]


def test_a_batch_queries_it_too(orders: Path, tmp_path: Path, antiphon: Antiphon) -> None:
    questions, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    questions.write_text(json.dumps({"task_id": "a", "question": QUESTION[-1]}) + "\n")
    given = ("ask", "--system", "data-analyst", "--db", str(orders), "--set", "max_rows=5")
    with RoleServer(**REPLIES) as server:
        done = antiphon(*given, "--batch", str(questions), "--out", str(output), url=server.url)
    assert (done.returncode, done.stdout) == (0, "1 answered, 0 failed, 0 done before\n")
    assert json.loads(output.read_text())["model_answer"] == "There are 2 orders."


def test_a_query_that_was_mended_is_told_as_it_ran(tmp_path: Path, antiphon: Antiphon) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("id,net eur\n1,2.5\n2,4\n")
    written = {"sql": "SELECT sum(net_eur) AS n FROM orders"}
    replies: dict[str, Any] = {"query": written, "review": written, "answer": {"answer": "6.5"}}
    given = ("ask", "--system", "data-analyst", "What is the sum?", "--db", str(path), "--json")
    with RoleServer(**replies) as server:
        done = antiphon(*given, url=server.url)
    mended = 'SELECT sum("net eur") AS n FROM orders'
    assert json.loads(done.stdout)["sql"] == mended
    assert f"  sql: query mended: {mended}" in done.stderr.splitlines(), done.stderr


def test_the_most_rows_of_a_query_can_be_set(tmp_path: Path, antiphon: Antiphon) -> None:
    path = tmp_path / "many.csv"
    path.write_text("id\n" + "\n".join(map(str, range(9))))
    rows = {"sql": "SELECT id FROM many"}
    replies: dict[str, Any] = {"query": rows, "review": rows, "answer": {"answer": "These."}}
    given = ("ask", "--system", "data-analyst", "Which ids?", "--db", str(path), "--json")
    with RoleServer(**replies) as server:
        done = antiphon(*given, "--set", "max_rows=5", url=server.url)
    found = json.loads(done.stdout)
    assert len(found["data"]["rows"]) == 5, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "data-analyst", "--db", "absent.db"), "there is no SQLite file"),
        (("--system", "data-analyst", "--db", "absent.csv"), "cannot be read"),
        (("--db", "orders.db"), "does not accept a database"),
        (("--system", "data-analyst"), "--db PATH"),
        (("--system", "data-analyst", "--db", "x.csv", "--set", "max_rows=0"), "whole number"),
        (("--set", "max_rows=5"), "unknown setting of the review loop: max_rows"),
    ],
)
def test_a_database_that_cannot_be_had_is_refused_before_a_model_is_asked(
    antiphon: Antiphon, arguments: tuple[str, ...], message: str
) -> None:
    with RoleServer(**REPLIES) as server:
        done = antiphon("ask", "How many?", *arguments, url=server.url)
        assert not server.bodies
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("given", [("--db", "nope.csv"), ("--db", "nope.db"), ()])
def test_a_wrong_file_is_a_wrong_command_also_without_a_key(
    given: tuple[str, ...], antiphon: Antiphon
) -> None:
    done = antiphon(*QUESTION, *given, "--model", "openai:gpt-5-mini")
    assert (done.returncode, done.stdout) == (2, "")
    assert (given or ("--db",))[-1] in done.stderr
