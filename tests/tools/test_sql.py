"""`antiphon.tools.sql`: settings, calls and errors, as Python sees them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import PolicyError, ToolError, ToolTransportError, ValidationError
from antiphon.models import scripted
from antiphon.tools import sql

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """create table orders (id integer primary key, region text, amount numeric);
            insert into orders values (1, 'north', 25.5), (2, 'south', 9007199254740993);
            create table salaries (name text)"""
        )
    connection.close()
    return path


def test_a_path_and_urls_name_the_same_file(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.parent)
    for database in (shop, str(shop), f"sqlite:///{shop}", "sqlite:///shop.db", "shop.db"):
        tools = sql(database, tables=["orders"]).tools
        assert [tool.name for tool in tools] == ["sql_tables", "sql_schema", "sql_query"]
        assert [tool.side_effect for tool in tools] == ["read"] * 3
        found = tools[0].call({})
        assert [table["name"] for table in found["tables"]] == ["orders"]


def test_cells_keep_every_digit(shop: Path) -> None:
    query = sql(shop).tools[2]
    rows = query.call({"query": "select amount from orders where id = $1", "parameters": [2]})
    assert rows["rows"] == [[9007199254740993]]


def test_errors_have_classes_of_their_own(shop: Path) -> None:
    query = sql(shop, tables=["orders"]).tools[2]
    for text, error, code in [
        ("drop table orders", PolicyError, "query_refused"),
        ("select * from salaries", PolicyError, "query_table_forbidden"),
        ("select colour from orders", ToolError, "query_failed"),
    ]:
        with pytest.raises(error) as caught:
            query.call({"query": text})
        assert caught.value.code == code
    with pytest.raises(ValidationError) as caught:
        query.call({"query": "select 1 as one", "parameters": [1]})
    assert caught.value.code == "query_parameters_invalid"


def test_a_model_reads_why_its_query_was_refused(shop: Path) -> None:
    calls = [{"name": "shop_sql_query", "arguments": {"query": "delete from orders"}}]
    model = scripted([{"tool_calls": calls}, "I may only read."])
    agent = Agent(name="analyst", model=model, tools=[sql(shop, prefix="shop_")])
    assert Orchestrator([agent]).run("Delete all orders.").answer == "I may only read."
    assert "it is not a SELECT but: DELETE" in model.requests[1]["messages"][-1]["content"]


def test_no_password_appears_in_an_error() -> None:
    with pytest.raises(ValidationError) as caught:
        sql("mysql://ada:hunter2@host/shop")
    assert "hunter2" not in f"{caught.value!r} {caught.value} {caught.value.details}"
    tables = sql("postgresql://ada:hunter2@127.0.0.1:1/shop").tools[0]
    assert "hunter2" not in repr(tables)
    with pytest.raises(Exception, match="cannot be reached") as lost:
        tables.call({})
    assert "hunter2" not in f"{lost.value!r} {lost.value}"


def test_wrong_settings_are_named(shop: Path) -> None:
    for settings, message in [
        ({"tables": []}, "`tables` allows no table"),
        ({"timeout": 0}, "`timeout` must be"),
        ({"max_rows": 0}, "`max_rows` must be"),
        ({"schema": "shop"}, "SQLite has no schemas"),
    ]:
        with pytest.raises(ValidationError, match=message) as caught:
            sql(shop, **settings)  # type: ignore[arg-type]
        assert caught.value.code == "tool_setting_invalid"


_WRITE = """
import sqlite3, sys
try:
    with sqlite3.connect(sys.argv[1], timeout=0) as connection:
        rows = [(n,) for n in range(9, 99)]
        connection.executemany("insert into orders values (?, 'far', 1)", rows)
except sqlite3.OperationalError as error:
    print(error)
"""


def _write_in_another_process(path: Path) -> str:
    command = [sys.executable, "-c", _WRITE, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="threads cannot have locks of their own")
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_query_drops_no_lock_of_an_open_transaction_of_sqlite3(shop: Path, journal: str) -> None:
    query = sql(shop).tools[2]
    count = {"query": "select count(*) from orders"}
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute(f"pragma journal_mode = {journal}")
        connection.execute("insert into orders values (3, 'east', 1)")
        assert query.call(count)["rows"] == [[2]]
        assert _write_in_another_process(shop) == "database is locked"
        connection.commit()
        assert query.call(count)["rows"] == [[3]]
        assert not _write_in_another_process(shop)
        assert query.call(count)["rows"] == [[93]]
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


@pytest.mark.skipif(sys.platform != "linux", reason="threads cannot have locks of their own")
def test_an_exclusive_transaction_of_sqlite3_keeps_queries_out(shop: Path) -> None:
    query = sql(shop, timeout=0.2).tools[2]
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("begin exclusive")
        connection.execute("delete from orders")
        with pytest.raises(ToolTransportError, match="database is locked") as caught:
            query.call({"query": "select count(*) from orders"})
        assert "this process has an open transaction" in str(caught.value)
        assert _write_in_another_process(shop) == "database is locked"
