"""`antiphon.tools.files`: settings, calls and errors, as Python sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import PolicyError, ToolError, ValidationError
from antiphon.models import scripted
from antiphon.tools import files

if TYPE_CHECKING:
    from pathlib import Path

READING = ["read_file", "list_files", "search_files"]


def test_the_tools_follow_the_settings(tmp_path: Path) -> None:
    writing = ["write_file", "append_file", "move_file", "delete_file"]
    assert [tool.name for tool in files(tmp_path).tools] == READING + writing
    assert [tool.side_effect for tool in files(tmp_path).tools] == ["read"] * 3 + ["write"] * 4
    names = [tool.name for tool in files(tmp_path, read_only=True, prefix="in_").tools]
    assert names == [f"in_{name}" for name in READING]


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="`root`") as caught:
        files(tmp_path / "missing")
    assert caught.value.code == "tool_setting_invalid"
    with pytest.raises(ValidationError, match="glob"):
        files(tmp_path, patterns=["[a"])


def test_files_are_written_and_read(tmp_path: Path) -> None:
    tools = {tool.name: tool for tool in files(str(tmp_path)).tools}
    tools["write_file"].call({"path": "notes/é.md", "content": "naïve"})
    assert (tmp_path / "notes" / "é.md").read_text(encoding="utf-8") == "naïve"
    assert tools["read_file"].call({"path": "notes/é.md"}) == "naïve"
    with pytest.raises(ToolError) as caught:
        tools["write_file"].call({"path": "notes/é.md", "content": "again"})
    assert caught.value.code == "file_exists"


def test_nothing_outside_is_reached(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    read = files(tmp_path / "root").tools[0]
    for path in ("../secret", str(tmp_path / "secret"), "link"):
        with pytest.raises(PolicyError) as caught:
            read.call({"path": path})
        assert caught.value.code == "path_refused"


def test_a_call_that_writes_can_need_an_approval(tmp_path: Path) -> None:
    tools = [
        tool.with_options(approval=True) if tool.side_effect == "write" else tool
        for tool in files(tmp_path).tools
    ]
    arguments = {"path": "a.txt", "content": "a"}
    call = {"tool_calls": [{"name": "write_file", "arguments": arguments}]}
    team = Orchestrator([Agent(name="clerk", model=scripted([call, "Done."]), tools=tools)])
    result = team.run("Write it.")
    assert result.outcome == "paused"
    assert not (tmp_path / "a.txt").exists()
