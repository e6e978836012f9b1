"""The servers that the authors of the protocol publish on npm."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from antiphon import Toolset
from antiphon.errors import ToolError
from antiphon.models import scripted
from antiphon.systems import AgenticSearch
from support.mcp_peers import node, node_packages
from support.mcp_servers import tool_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]


def command(name: str, *arguments: str) -> list[str]:
    script = node_packages() / "@modelcontextprotocol" / name / "dist" / "index.js"
    return [str(node()), str(script), *arguments]


def test_everything() -> None:
    with Toolset.mcp(command("server-everything")) as tools:
        assert "Echo: hi" in str(tool_of(tools, "echo").call({"message": "hi"}))
        names = {tool.name for tool in tools.tools}
        assert "get-sum" in names or "add" in names
        image = next(tool for tool in tools.tools if "image" in tool.name)
        assert "image" in str(image.call({})).lower()


def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Lyon", encoding="utf-8")
    with Toolset.mcp(command("server-filesystem", str(tmp_path))) as tools:
        read = tool_of(tools, "read_text_file")
        assert "Lyon" in str(read.call({"path": str(tmp_path / "note.txt")}))
        with pytest.raises(ToolError, match="Access denied"):
            read.call({"path": "/etc/passwd"})


def test_memory(tmp_path: Path) -> None:
    store = tmp_path / "memory.json"
    entity = {"name": "Lyon", "entityType": "city", "observations": ["has 520774 people"]}
    with Toolset.mcp(command("server-memory"), env={"MEMORY_FILE_PATH": str(store)}) as tools:
        tool_of(tools, "create_entities").call({"entities": [entity]})
        assert "520774" in json.dumps(tool_of(tools, "read_graph").call({}))
    assert "520774" in store.read_text(encoding="utf-8")


def test_the_agentic_search_reads_a_file_over_a_registry(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Lyon has 520,774 people", encoding="utf-8")
    where = {"path": str(tmp_path / "note.txt")}
    task = {"tool_name": "read_text_file", "tool_arguments": where}
    answer = {"response_content": "<p>520,774.</p>", "sources": [1]}
    model = scripted([{"json": {"tasks": [task]}}, {"json": answer}])
    registry = Toolset.mcp(command("server-filesystem", str(tmp_path)))
    found = AgenticSearch(model, registry=registry).run("How many people live in Lyon?")
    assert found.answer == "520,774.", found.to_json()
    assert "Lyon has 520,774 people" in found.sources[0].excerpt
