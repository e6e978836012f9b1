"""Servers that the tests of MCP start."""

from __future__ import annotations

import sys

import pytest

from support.mcp_servers import SCRIPTED


@pytest.fixture
def scripted() -> list[str]:
    """The command of a server that needs no package."""
    return [sys.executable, "-u", str(SCRIPTED)]
