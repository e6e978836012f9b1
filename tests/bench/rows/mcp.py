"""What a call of a tool of an MCP server costs: with our client, and with the official SDK's.

Both talk to the same server of ours, another process with one native tool: the client differs.
"""

import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from antiphon import Toolset
from antiphon.tools import calculator
from bench.engine import RUNNER, Engine
from bench.row import Row, Sample
from support.mcp_peers import python_sdk
from support.waiting import happens

CALLS = 50
ARGUMENTS = {"expression": "1 + 1"}
SDK = "MCP SDK"
FOLDER = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "antiphon", "mcp", "bench.rows.mcp:served"]

served = calculator()
"""What the server's process finds in this module."""

Start = Callable[[], AbstractContextManager[str]]
"""Starts a server, if the client does not, and gives what the client connects to."""


@contextmanager
def pipes() -> Iterator[str]:
    """A command line; the client starts the process."""
    yield shlex.join(COMMAND)


@contextmanager
def http() -> Iterator[str]:
    """The address of a server on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def listens() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    command = [*COMMAND, "--http", str(port)]
    with subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.DEVNULL) as process:
        try:
            assert happens(listens), "the server never listened"
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def ours(start: Start, engine: Engine) -> Sample | None:
    """Calls of a toolset that is connected."""
    if not engine.ours:
        return None

    def sample(times: int) -> float:
        with (
            start() as target,
            Toolset.mcp(target, cwd=FOLDER if "://" not in target else None) as tools,
        ):
            [tool] = tools.tools
            began = perf_counter()
            for _ in range(times * CALLS):
                tool.call(ARGUMENTS)
            return perf_counter() - began

    return sample


def theirs(start: Start) -> Sample:
    """Calls of the SDK's client."""

    async def timed(target: str, times: int) -> float:
        async with session(target) as client:
            began = perf_counter()
            for _ in range(times * CALLS):
                await client.call_tool(served.name, ARGUMENTS)
            return perf_counter() - began

    def sample(times: int) -> float:
        with start() as target:
            return RUNNER.run(timed(target, times))

    return sample


@asynccontextmanager
async def session(target: str) -> AsyncIterator[Any]:
    """A connected client of the SDK."""
    # Behind all others, since it brings packages that the environment has in other versions.
    if (folder := str(python_sdk("2"))) not in sys.path:
        sys.path.append(folder)
    sdk: Any = import_module("mcp")
    parameters: Any = sdk.StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=FOLDER)
    async with sdk.Client(target if "://" in target else parameters) as client:
        yield client


def row(name: str, way: str, start: Start) -> Row:
    """A row for one way to a server."""
    return Row(
        name,
        f"call of a tool of an MCP server over {way}",
        "µs",
        CALLS,
        floor=lambda _: None,
        engine=partial(ours, start),
        beside={SDK: lambda: theirs(start)},
    )


ROWS = (row("mcp-stdio", "pipes", pipes), row("mcp-http", "HTTP", http))
