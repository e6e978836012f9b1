"""`antiphon.tools.document_search`: settings, passages and errors, as Python sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import ToolError, ValidationError
from antiphon.models import scripted
from antiphon.tools import document_search

if TYPE_CHECKING:
    from pathlib import Path

TEA = "# Tea\n\n## Green tea\n\nSteep green tea for two minutes, no longer. 🍵\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "tea.md").write_text(TEA, encoding="utf-8")
    (folder / "rooms.csv").write_text("room,floor\nkitchen,2\nlibrary,3\n")
    return folder


def test_a_citation_is_a_slice_of_the_document(folder: Path, tmp_path: Path) -> None:
    search, read = document_search(folder, cache=tmp_path / "cache").tools
    assert (search.side_effect, read.side_effect) == ("read", "read")
    reply = search.call({"query": "how long does green tea steep?", "path": "*.md"})
    assert search.call({"query": "coffee"})["documents"] == 2
    found = reply["results"][0]
    page = read.call({"path": found["path"]})
    start, end = found["range"]["start"], found["range"]["end"]
    assert "🍵" in page["text"]
    assert page["text"][start:end].strip() == found["passage"]
    assert [one["title"] for one in page["outline"]] == ["Tea", "Green tea"]


def test_changes_of_the_folder_are_found(folder: Path, tmp_path: Path) -> None:
    search = document_search(folder, cache=tmp_path / "cache", refresh_after=0).tools[0]
    assert search.call({"query": "coffee"})["results"] == []
    (folder / "coffee.txt").write_text("Grind the beans.\nCoffee is done.\n")
    assert search.call({"query": "coffee"})["results"][0]["path"] == "coffee.txt"


def test_an_agent_searches_two_folders_with_prefixes(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "news"
    other.mkdir()
    (other / "monday.txt").write_text("The library moves to floor 4.")
    cache = tmp_path / "cache"
    tools = [
        document_search(folder, cache=cache, prefix="handbook_"),
        document_search(other, cache=cache, prefix="news_"),
    ]
    call = {"name": "news_search_documents", "arguments": {"query": "library floor"}}
    model = scripted([{"tool_calls": [call]}, "Floor 4."])
    team = Orchestrator([Agent(name="host", model=model, tools=tools)])
    assert team.run("Where is the library?").answer == "Floor 4."
    told = model.requests[1]["messages"][-1]["content"]
    assert "monday.txt" in told
    assert "rooms.csv" not in told


def test_wrong_settings_are_named(folder: Path) -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (folder / "absent", {}, "`folder` must be an existing folder"),
        (folder / "tea.md", {}, "`folder` must be an existing folder"),
        ("", {}, "`folder` must be an existing folder"),
        (folder, {"refresh_after": -1}, "`refresh_after` must be a number of seconds"),
        (folder, {"max_file_bytes": -1}, "max_file_bytes"),
    ]
    for path, settings, message in wrong:
        with pytest.raises(ValidationError, match=message) as caught:
            document_search(path, **settings)
        assert caught.value.code == "tool_setting_invalid"


def test_an_unknown_document_and_an_unusable_cache_are_errors(folder: Path, tmp_path: Path) -> None:
    read = document_search(folder, cache=tmp_path / "cache").tools[1]
    with pytest.raises(ToolError) as caught:
        read.call({"path": "../secret.txt"})
    assert caught.value.code == "document_unknown"
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(ToolError) as caught:
        document_search(folder, cache=blocked).tools[0].call({"query": "tea"})
    assert caught.value.code == "document_index_unavailable"
