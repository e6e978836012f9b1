"""A server written with the official Python SDK, of either major version.

Usage: sdk_server.py stdio | http PORT
"""

# mypy: ignore-errors
# The packages of two major versions, of which none is installed where types are checked.
from __future__ import annotations

import asyncio
import os
import sys

try:
    from mcp.server import MCPServer as Server  # version 2
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # version 1

try:
    from mcp.server.mcpserver import Context
except ImportError:
    from mcp.server.fastmcp import Context

from pydantic import BaseModel

server = Server("cities")


class City(BaseModel):
    name: str
    people: int


@server.tool()
def city(name: str) -> City:
    """A city by its name."""
    return City(name=name, people=520_774)


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
def fail(text: str) -> str:
    """Raises."""
    raise ValueError(f"no such city: {text}")


class Beds(BaseModel):
    beds: int


@server.tool()
async def book(city: str, ctx: Context) -> str:
    """Asks for the number of beds."""
    found = await ctx.elicit(f"beds in {city}?", Beds)
    if found.action != "accept":
        return found.action
    return f"{found.data.beds} beds in {city}"


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    """Reports each step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def stall() -> str:
    """Never returns."""
    await asyncio.Event().wait()
    return "late"


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool()
def pid() -> int:
    """The number of the process."""
    return os.getpid()


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    port = int(sys.argv[2])
    try:
        server.run("streamable-http", host="127.0.0.1", port=port)
    except TypeError:
        server.settings.host, server.settings.port = "127.0.0.1", port
        server.run("streamable-http")
