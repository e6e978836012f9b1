"""Questions about the schema and about the API itself, over every kind of connection."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.models import scripted
from antiphon.systems import DataAnalyst, OrchestratorResponse
from antiphon.tools import http_api, sql

if TYPE_CHECKING:
    from support.postgres import Server

TABLES = {"sql": "", "schema": "tables", "tables": []}
COLUMNS = {"sql": "", "schema": "columns", "tables": []}


def ask(reply: dict[str, Any], **options: Any) -> OrchestratorResponse:
    replies = [{"json": reply}, {"json": {"answer": "That is in the list."}}]
    analyst = DataAnalyst(
        scripted(replies), sandbox=False, check_query=False, compose_single=False, **options
    )
    found = analyst.run("What is in the schema?", trace=True)
    assert (found.outcome, found.answer) == ("answered", "That is in the list."), found.error
    ran = [one for one in found.events if (one.name, one.kind) == ("sql_query", "tool_call")]
    assert not [one for one in ran if "SELECT DISTINCT" not in str(one.data)]
    tools = [event.message for event in found.trace_events if event.event_type == "tool"]
    assert tools == ["schema", "schema listed"]
    return found


def rows(found: OrchestratorResponse) -> list[tuple[Any, ...]]:
    assert found.data is not None
    return [tuple(row[name] for name in found.data.columns) for row in found.data]


def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE regions (code TEXT PRIMARY KEY);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT REFERENCES regions (code));"
            "CREATE VIEW north AS SELECT id FROM orders WHERE region = 'n';"
            "CREATE TABLE salaries (person TEXT, eur INTEGER);"
        )
    return path


def test_tables_that_may_be_read_are_listed(tmp_path: Path) -> None:
    """DA-01 of `docs/systems/data-analyst.md`."""
    path = shop(tmp_path)
    named = {"orders": "what was sold"}
    found = ask(TABLES, database=path, descriptions=named)
    assert rows(found) == [
        ("north", "view", ""),
        ("orders", "table", "what was sold"),
        ("regions", "table", ""),
        ("salaries", "table", ""),
    ]
    allowed = ask(TABLES, database=sql(path, tables=["orders", "regions"]))
    assert rows(allowed) == [("orders", "table"), ("regions", "table")]
    columns = ask(COLUMNS, database=sql(path, tables=["orders", "regions"]))
    assert rows(columns) == [
        ("orders", "id", "INTEGER", "primary key"),
        ("orders", "region", "TEXT", "refers to regions.code"),
        ("regions", "code", "TEXT", "primary key"),
    ]
    assert columns.sql == ""
    assert columns.metadata["truncated"] == []


def test_the_plainest_words_need_no_model(tmp_path: Path) -> None:
    """DA-01 of `docs/systems/data-analyst.md`."""
    model = scripted([{"json": {"answer": "regions and orders."}}])
    analyst = DataAnalyst(model, database=shop(tmp_path), sandbox=False, compose_single=False)
    found = analyst.run("List all tables in the database")
    assert [name for name, _ in rows(found)] == ["north", "orders", "regions", "salaries"]
    assert found.usage.model_calls == 1


def test_frames_are_listed_as_tables() -> None:
    frames = {"sales": {"region": ["north"], "net": [10]}, "staff": [{"name": "Ann"}]}
    assert rows(ask(TABLES, frames=frames)) == [("sales", "table"), ("staff", "table")]
    listed = rows(ask(COLUMNS | {"tables": ["sales"]}, frames=frames))
    assert [(table, column) for table, column, *_ in listed] == [
        ("sales", "region"),
        ("sales", "net"),
    ]


def test_more_than_1000_columns_are_a_list_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "wide.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in range(11):
            columns = ", ".join(f"c{place}" for place in range(100))
            connection.execute(f"CREATE TABLE t{table} ({columns})")
    found = ask(COLUMNS, database=path)
    assert found.data is not None
    assert (len(found.data), found.data.truncated) == (1_000, True)
    assert found.metadata["truncated"] == ["sql"]


def test_comments_of_postgres_are_descriptions(postgres: Server) -> None:
    url = postgres.database()
    name = url.rpartition("/")[2].partition("?")[0]
    for statement in (
        "CREATE TABLE orders (id int PRIMARY KEY, net_eur numeric(10, 2))",
        "COMMENT ON TABLE orders IS 'what was sold'",
        "COMMENT ON COLUMN orders.net_eur IS 'net, in euros'",
    ):
        postgres.ask(statement, name)
    assert rows(ask(TABLES, database=url)) == [("orders", "table", "what was sold")]
    columns = rows(ask(COLUMNS, database=url))
    assert columns[0][:2] == ("orders", "id")
    assert columns[0][3:] == ("primary key", "")
    assert columns[1][1:] == ("net_eur", "numeric(10,2)", "", "net, in euros")


CATALOGUE = """
sections:
  - id: orders
    content: |
      - GET `/v1/orders` list of orders
      - GET `/v1/orders/:id` one order
      - POST `/v1/orders` new order
"""
LIST = {"make_request": False, "list_endpoints": True, "method": "", "path": ""}


def ask_api(api: Any) -> OrchestratorResponse:
    replies = [{"json": LIST}, {"json": {"answer": "Orders can be read."}}]
    analyst = DataAnalyst(scripted(replies), api=api, sandbox=False, compose_single=False)
    asked = analyst.run("What can be called?", trace=True)
    plain = DataAnalyst(scripted(replies[1:]), api=api, sandbox=False, compose_single=False)
    found = plain.run("List me all the API points available to you", trace=True)
    assert asked.data == found.data
    return found


def test_endpoints_that_may_be_called_are_listed() -> None:
    """DA-02 of `docs/systems/data-analyst.md`."""
    unreachable = "http://127.0.0.1:9"
    found = ask_api(http_api(CATALOGUE, base_url=unreachable, candidates=1))
    assert found.outcome == "answered", found.error
    assert found.data is not None
    assert found.data.columns == ("method", "path", "parameters", "description")
    assert rows(found) == [
        ("GET", "/v1/orders", "", "list of orders"),
        ("GET", "/v1/orders/:id", "id", "one order"),
    ]
    assert not found.data.truncated
    tools = [event.message for event in found.trace_events if event.event_type == "tool"]
    assert tools == ["endpoints listed"]
    writable = ask_api(http_api(CATALOGUE, base_url=unreachable, writes=True))
    assert len(rows(writable)) == 3


def test_a_tool_that_knows_only_what_fits_gives_a_list_that_is_not_whole() -> None:
    def api_endpoints(question: str) -> dict[str, Any]:
        """Find endpoints."""
        about = f"a text of {type(question).__name__}"
        return {"endpoints": [{"method": "GET", "path": "/v1/orders", "description": about}]}

    def api_read(method: str) -> dict[str, Any]:
        """Read."""
        return {"status": 200, "data": method}

    found = ask_api([api_endpoints, api_read])
    assert found.data is not None
    assert (len(found.data), found.data.truncated) == (1, True)
