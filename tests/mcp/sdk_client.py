"""A client written with the official Python SDK, of either major version.

Usage: sdk_client.py URL | COMMAND ARGUMENT …

It answers each question with ``Ada``, calls each tool with one text, and prints what it saw.
"""

# mypy: ignore-errors
# The packages of two major versions, of which none is installed where types are checked.
from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp.client.stdio import stdio_client

import mcp
from mcp import ClientSession, StdioServerParameters

is_new = hasattr(mcp, "Client")
seen: dict[str, Any] = {"progress": 0, "questions": [], "results": {}}


async def on_progress(done: float, total: float | None, message: str | None) -> None:
    seen["progress"] += 1


async def answer(context: Any, params: Any) -> Any:
    from mcp.types import ElicitResult

    seen["questions"].append(params.message)
    return ElicitResult(action="accept", content={"answer": "Ada"})


async def use(client: Any) -> None:
    for tool in (await client.list_tools()).tools:
        schema = getattr(tool, "input_schema", None) or tool.inputSchema
        arguments = {next(iter(schema["properties"])): "Lyon"}
        result = await client.call_tool(tool.name, arguments, progress_callback=on_progress)
        failed = result.is_error if hasattr(result, "is_error") else result.isError
        seen["results"][tool.name] = [result.content[0].text, failed]


async def main(target: list[str]) -> None:
    is_url = target[0].startswith("http")
    parameters = StdioServerParameters(command=target[0], args=target[1:])
    if is_new:
        from mcp import Client

        server: Any = target[0] if is_url else parameters
        async with Client(server, elicitation_callback=answer) as client:
            await use(client)
        return
    if is_url:
        from mcp.client.streamable_http import streamablehttp_client

        streams: Any = streamablehttp_client(target[0])
    else:
        streams = stdio_client(parameters)
    async with (
        streams as (read, write, *_),
        ClientSession(read, write, elicitation_callback=answer) as session,
    ):
        await session.initialize()
        await use(session)


asyncio.run(main(sys.argv[1:]))
print(json.dumps(seen))
