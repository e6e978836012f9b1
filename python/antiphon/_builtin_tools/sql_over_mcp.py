"""Read-only SQL over the tools of an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from antiphon._antiphon import remote_sql_tools
from antiphon._builtin_tools.lists import listed
from antiphon._tool.tool import Tool
from antiphon.errors import ValidationError
from antiphon.toolset import McpToolset, Toolset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._antiphon import NativeTool


def sql_over_mcp(
    server: McpToolset,
    *,
    dialect: Literal["postgresql", "sqlite"],
    tables: Sequence[str],
    schema_tool: str = "mcp_db_schema",
    query_tool: str = "mcp_db_query",
    functions: Sequence[str] | None = None,
    schema: str | None = None,
    max_rows: int = 1_000,
    max_cell: int = 2_000,
    max_bytes: int = 1_000_000,
    timeout: float = 30,
    prefix: str = "",
) -> Toolset:
    """Tools that read a database behind an MCP server: `sql_tables`, `sql_schema`, `sql_query`.

    Each query is parsed here before the server gets it, and must be one ``SELECT`` of allowed
    tables and functions, as for `sql`; it asks for no more rows than are kept. Give the server a
    login that can only read: its connection is the second layer.

    The tool `schema_tool` takes ``{"tables": [...]}`` and returns a list of ``{"schema", "table",
    "columns": [{"name", "type", "nullable"}]}``. The tool `query_tool` takes ``{"query",
    "params"}`` and returns ``{"success", "columns", "data", "error"}``, with ``data`` as a list of
    lists or of dicts. A call that does not reach the server is made three times.

    Args:
        server: the server, such as ``Toolset.mcp("http://127.0.0.1:8000/mcp")``. It is connected
            to now, to read the list of its tools.
        dialect: what the server runs queries in.
        tables: the tables and views that may be read, such as ``orders`` or ``audit.log``.
        schema_tool: the name of the tool that describes tables, with the prefix of `server`.
        query_tool: the name of the tool that runs a query, with the prefix of `server`.
        functions: as for `sql`.
        schema: as for `sql`.
        max_rows: as for `sql`.
        max_cell: the characters of a text in one cell.
        max_bytes: as for `sql`.
        timeout: as for `sql`.
        prefix: as for `sql`.

    Raises:
        ValidationError: a setting is wrong, `tables` is empty, or the server has no such tool
            (``tool_setting_invalid``).
        ToolTransportError: the server cannot be reached (``mcp_unreachable``).

    Example:
        >>> server = Toolset.mcp("http://127.0.0.1:8000/mcp")
        >>> sql_over_mcp(server, dialect="postgresql", tables=["orders"])  # doctest: +SKIP
        Toolset(sql_tables, sql_schema, sql_query)
    """
    if not isinstance(server, McpToolset):
        raise ValidationError(
            f"`server` must be the toolset of an MCP server: {type(server).__name__}",
            code="tool_setting_invalid",
            hint='write `sql_over_mcp(Toolset.mcp("http://…"), …)`',
        )
    settings = {
        "dialect": dialect,
        "tables": listed("tables", tables),
        "functions": listed("functions", functions or []),
        "schema": schema,
        "max_rows": max_rows,
        "max_cell": max_cell,
        "max_bytes": max_bytes,
        "timeout": timeout,
    }
    describes, runs = _handle(server, schema_tool), _handle(server, query_tool)
    opened = [Tool.from_native(handle) for handle in remote_sql_tools(describes, runs, settings)]
    return Toolset(opened, prefix=prefix, lifespan=server.server.used)


def _handle(server: McpToolset, name: str) -> NativeTool:
    """The native tool of that name.

    Raises:
        ValidationError: there is none (``tool_setting_invalid``).
    """
    for tool in server.tools:
        if tool.name == name and tool.native is not None:
            return tool.native.handle
    names = ", ".join(tool.name for tool in server.tools)
    raise ValidationError(
        f"the MCP server has no such tool: {name}",
        code="tool_setting_invalid",
        hint=f"set `schema_tool` and `query_tool` to two of these: {names}",
    )
