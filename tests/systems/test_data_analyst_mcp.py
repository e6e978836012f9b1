"""The data analyst over a database behind an MCP server of the official SDK."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Toolset
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import DataAnalyst
from antiphon.tools import sql_over_mcp
from support.mcp_peers import sdk_environment
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems import OrchestratorResponse
    from antiphon.toolset import McpToolset

pytestmark = [pytest.mark.network, pytest.mark.slow]

SERVER = Path(__file__).with_name("database_server.py")
COUNT = "SELECT count(*) AS n FROM orders"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT, net_eur REAL);
            INSERT INTO orders VALUES (1, 'north', 10.5), (2, 'south', 20), (3, 'north', 11.5);
            CREATE TABLE salaries AS SELECT 'Ann' AS person, 5000 AS eur;
            """
        )
    return path


@contextmanager
def served(file: Path, mode: str = "lists") -> Iterator[McpToolset]:
    """The tools of the server while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(port), str(file), mode]
    environment = {**os.environ, **sdk_environment("1")}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        assert happens(lambda: answers(port)), "the server did not start"
        yield Toolset.mcp(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def ask(
    server: McpToolset, queries: list[str], answer: str, **settings: Any
) -> OrchestratorResponse:
    replies = [*({"json": {"sql": query}} for query in queries), {"json": {"answer": answer}}]
    tools = sql_over_mcp(server, dialect="sqlite", tables=["orders"])
    analyst = DataAnalyst(
        scripted(replies),
        database=tools,
        sandbox=False,
        check_query=False,
        compose_single=False,
        **settings,
    )
    return analyst.run("How many orders are there in the north?", trace=True)


@pytest.mark.parametrize("mode", ["lists", "maps", "plain"])
def test_a_question_is_answered_over_mcp(file: Path, mode: str) -> None:
    """DA-49 of docs/systems/data-analyst.md."""
    query = "SELECT count(*) AS n FROM orders WHERE region = 'north'"
    with served(file, mode) as server:
        found = ask(server, [query], "There are 2 orders.")
    assert (found.outcome, found.answer) == ("answered", "There are 2 orders.")
    assert found.data is not None
    assert found.data.rows == ({"n": 2},)


def test_a_query_is_refused_here_before_the_server_could_run_it(file: Path) -> None:
    """DA-49 of docs/systems/data-analyst.md."""
    unsafe = ["DELETE FROM orders", "SELECT person FROM salaries", "SELECT absent FROM orders"]
    with served(file) as server:
        found = ask(server, [*unsafe, COUNT], "There are 3 orders.")
    assert found.answer == "There are 3 orders."
    errors = [one for one in found.trace_events if one.event_type == "error"]
    kinds = [one.data["type"] for one in errors]
    assert kinds == ["UnsafeQuery", "TableNotAllowed", "QueryError"]
    assert "no such column: absent" in errors[-1].data["error"]
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(COUNT).fetchall() == [(3,)]


def test_tables_and_columns_are_listed_over_mcp_as_far_as_the_server_tells(file: Path) -> None:
    """DA-01 of docs/systems/data-analyst.md."""

    def listed(server: McpToolset, schema: str) -> list[dict[str, Any]]:
        reply = {"json": {"sql": "", "schema": schema, "tables": []}}
        analyst = DataAnalyst(
            scripted([reply, {"json": {"answer": "orders."}}]),
            database=sql_over_mcp(server, dialect="sqlite", tables=["orders"]),
            sandbox=False,
            check_query=False,
            compose_single=False,
        )
        found = analyst.run("What is in the schema?")
        assert found.data is not None, found.error
        return list(found.data)

    with served(file) as server:
        assert listed(server, "tables") == [{"table": "orders"}]
        columns = listed(server, "columns")
    assert [(row["column"], row["type"]) for row in columns] == [
        ("id", "INTEGER"),
        ("region", "TEXT"),
        ("net_eur", "REAL"),
    ]


def test_a_reply_that_is_no_table_and_a_server_that_is_gone_fail_the_agent(file: Path) -> None:
    with served(file, "short") as server:
        found = ask(server, ["SELECT id, region FROM orders"], "unused")
        (result,) = found.agent_results
        assert result.error is not None
        assert result.error.type == "ProtocolError"
        tools = sql_over_mcp(server, dialect="sqlite", tables=["orders"])
        server.close()
    replies = [{"json": {"answer": "It cannot be said."}}]
    analyst = DataAnalyst(scripted(replies), database=tools, sandbox=False)
    (result,) = analyst.run("How many orders?").agent_results
    assert result.error is not None
    assert result.error.type == "McpUnavailable"


def test_tables_and_tools_have_to_be_named(file: Path) -> None:
    with served(file) as server:
        with pytest.raises(ValidationError, match="allows no table"):
            sql_over_mcp(server, dialect="sqlite", tables=[])
        with pytest.raises(ValidationError, match="no such tool: query") as raised:
            sql_over_mcp(server, dialect="sqlite", tables=["orders"], query_tool="query")
        assert "mcp_db_query, asked" in str(raised.value.hint)
        with pytest.raises(ValidationError, match="must be a list"):
            sql_over_mcp(server, dialect="sqlite", tables="orders")
    with pytest.raises(ValidationError, match="toolset of an MCP server"):
        sql_over_mcp("http://x/mcp", dialect="sqlite", tables=["orders"])  # type: ignore[arg-type]
