"""What the tests of MCP share."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon import Tool, Toolset

ROOT = Path(__file__).resolve().parents[2]
SDK_SERVER = ROOT / "tests/mcp/sdk_server.py"
SCRIPTED = ROOT / "tests/support/mcp_scripted.py"


def tool_of(tools: Toolset, name: str) -> Tool:
    """The tool of that name."""
    return next(tool for tool in tools.tools if tool.name == name)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def is_open(port: int) -> bool:
    """Whether a server of this machine accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
