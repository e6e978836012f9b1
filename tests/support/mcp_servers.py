"""What the tests of MCP share."""

from __future__ import annotations

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
