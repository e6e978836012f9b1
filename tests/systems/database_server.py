"""A database behind an MCP server written with the official Python SDK.

Usage: database_server.py PORT FILE MODE

The mode is ``lists`` or ``maps``, the form of the rows; ``short`` leaves the last cell of each row
out, and ``plain`` returns texts in place of structured content.
"""

# mypy: ignore-errors
# The package is not installed where types are checked.
from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any

from mcp.server.fastmcp import FastMCP

from mcp import types

PORT, FILE, MODE = sys.argv[1:]
server = FastMCP("database", host="127.0.0.1", port=int(PORT))
read = types.ToolAnnotations(readOnlyHint=True)


def connected() -> sqlite3.Connection:
    """A connection that would let a query write: the client has to refuse it."""
    return sqlite3.connect(FILE)


@server.tool(annotations=read, structured_output=MODE != "plain")
def mcp_db_schema(tables: list[str]) -> list[dict[str, Any]]:
    """Describe tables."""
    with connected() as connection:
        found = []
        for full_name in tables:
            name = full_name.split(".")[-1]
            rows = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            columns = [{"name": row[1], "type": row[2], "nullable": not row[3]} for row in rows]
            described = {"schema": "main", "table": name, "full_name": f"main.{name}"}
            found += [{**described, "columns": columns}] if columns else []
        return found


@server.tool(annotations=read, structured_output=MODE != "plain")
def mcp_db_query(query: str, params: list | None = None) -> dict[str, Any]:
    """Run a query."""
    with connected() as connection:
        try:
            rows = connection.execute(query, params or [])
            data = [list(row) for row in rows.fetchall()]
        except sqlite3.Error as error:
            return {
                "success": False,
                "columns": [],
                "data": [],
                "row_count": 0,
                "error": str(error),
            }
    names = [column[0] for column in rows.description]
    if MODE == "maps":
        data = [dict(zip(names, row, strict=True)) for row in data]
    if MODE == "short":
        data = [row[:-1] for row in data]
    return {"success": True, "columns": names, "data": data, "row_count": len(data)}


@server.tool()
def asked() -> str:
    """Nothing: a tool of the server that has nothing to do with the database."""
    return json.dumps({})


server.run("streamable-http")
