"""A registry of tools written with the official Python SDK: its list has pages, and it can grow.

Usage: registry_server.py PORT
"""

# mypy: ignore-errors
# The package is not installed where types are checked.
from __future__ import annotations

import sys

from mcp.server.fastmcp import Context, FastMCP

from mcp import types

server = FastMCP("stories", host="127.0.0.1", port=int(sys.argv[1]))


@server.tool(annotations=types.ToolAnnotations(readOnlyHint=True))
def search_stories(query: str, size: int = 5) -> dict:
    """Search the stories."""
    hit = {"title": "Upstream", "url": "https://a.example/1", "text": f"{query}: {size} stories"}
    return {"results": [hit], "total": 12}


@server.tool()
def count_tags(query: str) -> str:
    """Count the tags."""
    return f"3 tags of {query}"


@server.tool()
async def grow(query: str, ctx: Context) -> str:
    """Add a tool."""

    def later(query: str) -> str:
        """Search what came later."""
        return f"later: {query}"

    server.add_tool(later)
    await ctx.session.send_tool_list_changed()
    return f"grown for {query}"


async def one_page(request: types.ListToolsRequest | None) -> types.ServerResult:
    """One tool for each page; all of them for the library, which asks without a request."""
    tools = await server.list_tools()
    if request is None:
        return types.ServerResult(types.ListToolsResult(tools=tools))
    position = int((request.params and request.params.cursor) or 0)
    after = str(position + 1) if position + 1 < len(tools) else None
    page = types.ListToolsResult(tools=tools[position : position + 1], nextCursor=after)
    return types.ServerResult(page)


server._mcp_server.request_handlers[types.ListToolsRequest] = one_page
server.run("streamable-http")
