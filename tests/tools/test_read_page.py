"""`antiphon.tools.read_page` and `download`: pages on loopback, as Python sees them."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import AntiphonError, PolicyError, ValidationError
from antiphon.models import scripted
from antiphon.tools import download, files, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = "".join(f"Line {number}: the tea is hot 🍵.\n" for number in range(1_000))
PAGES = {
    "/tea": (
        "text/html",
        "<title>Tea</title><nav>Menu</nav><p>Boil <a href='/water'>water</a> first.",
    ),
    "/lines": ("text/plain; charset=utf-8", LINES),
    "/files/tea.csv": ("text/csv", "tea,minutes\ngreen,2\n"),
}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, text = PAGES.get(self.path, ("text/plain", ""))
        self.send_response(200 if text else 404)
        self.send_header("Content-Type", kind)
        body = text.encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_is_its_article_with_links(site: str) -> None:
    reader = read_page(allow=["loopback"], render="never")
    assert reader.side_effect == "read"
    page = reader.call({"url": f"{site}/tea"})
    assert (page["title"], page["text"]) == ("Tea", "Boil water first.\n")
    [link] = page["links"]
    assert (link["text"], link["url"]) == ("water", f"{site}/water")
    assert page["next_offset"] is None


def test_a_long_page_comes_in_parts_that_can_be_cited(site: str) -> None:
    reader = read_page(allow=["loopback"], excerpt=10_000)
    text, ids = "", set()
    offset: int | None = 0
    while offset is not None:
        part = reader.call({"url": f"{site}/lines", "offset": offset})
        assert (part["start"], part["end"]) == (len(text), len(text) + len(part["text"]))
        text += part["text"]
        offset = part["next_offset"]
        ids.add(part["page_id"])
    assert text == LINES
    assert ids == {hashlib.sha256(LINES.encode()).hexdigest()}


def test_an_agent_downloads_a_file_and_reads_it(site: str, tmp_path: Path) -> None:
    get = download(tmp_path, allow=["loopback"], types=["text/*"])
    calls = [
        {"name": "download", "arguments": {"url": f"{site}/files/tea.csv", "name": "../a.csv"}},
        {"name": "read_file", "arguments": {"path": "a.csv"}},
    ]
    model = scripted([{"tool_calls": [calls[0]]}, {"tool_calls": [calls[1]]}, "Two."])
    team = Orchestrator([Agent(name="host", model=model, tools=[get, files(tmp_path)])])
    assert team.run("How long?").answer == "Two."
    assert "green,2" in model.requests[2]["messages"][-1]["content"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_stored_file_has_its_hash_and_a_name_of_its_own(site: str, tmp_path: Path) -> None:
    get = download(tmp_path, allow=["loopback"])
    assert get.side_effect == "write"
    url = f"{site}/files/tea.csv"
    stored = get.call({"url": url})
    content = PAGES["/files/tea.csv"][1].encode()
    assert (stored["path"], stored["bytes"]) == ("tea.csv", len(content))
    assert stored["sha256"] == hashlib.sha256(content).hexdigest()
    assert get.call({"url": url, "sha256": stored["sha256"]})["path"] == "tea-1.csv"
    with pytest.raises(AntiphonError) as caught:
        get.call({"url": url, "sha256": "0" * 64})
    assert caught.value.code == "download_hash_mismatch"


def test_what_is_not_allowed_is_refused(site: str, tmp_path: Path) -> None:
    for tool in (read_page(), download(tmp_path)):
        with pytest.raises(PolicyError) as refused:
            tool.call({"url": f"{site}/tea"})
        assert refused.value.code == "address_refused"
    images = download(tmp_path, allow=["loopback"], types=["image/*"])
    with pytest.raises(AntiphonError) as caught:
        images.call({"url": f"{site}/tea"})
    assert caught.value.code == "download_type_refused"
    assert not list(tmp_path.glob("[!.]*"))


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    settings: Any
    for settings, message in [
        ({"allow": ["??"]}, "an entry of `allow` names no address"),
        ({"timeout": 0}, "`timeout`"),
        ({"excerpt": 0}, "`excerpt`"),
        ({"render": "sometimes"}, "render"),
        ({"browser": str(tmp_path / "absent")}, "no Chromium"),
    ]:
        with pytest.raises(ValidationError, match=message) as caught:
            read_page(**settings)
        assert caught.value.code in {"tool_setting_invalid", "browser_missing"}
    for root in (tmp_path / "absent", ""):
        with pytest.raises(ValidationError, match="`root` cannot be opened") as caught:
            download(root)
        assert caught.value.code == "tool_setting_invalid"
