"""Tracing that LangSmith's own functions switch on and off around a run."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import langsmith
import pytest

from support.oracle import Impl, Run
from support.states import Log, say


class Server(ThreadingHTTPServer):
    """A loopback server that keeps the names of the runs that clients post."""

    names: list[str]


class Handler(BaseHTTPRequestHandler):
    """One request of a client."""

    server: Server

    def do_POST(self) -> None:
        """Keep the name of a run."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.names.append(json.loads(body)["name"])
        self._answer()

    def do_PATCH(self) -> None:
        """Take the end of a run."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def do_GET(self) -> None:
        """Tell about the server."""
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.names = []
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(("enabled", "expected"), [(True, {"g", "a"}), (False, set())])
def test_a_tracing_context_decides(
    impl: Impl, run: Run, server: Server, enabled: bool, expected: set[str]
) -> None:
    graph = impl.sequence(Log, say("a"), name="g")
    client = langsmith.Client(
        api_url=f"http://127.0.0.1:{server.server_port}", api_key="none", auto_batch_tracing=False
    )
    with langsmith.tracing_context(enabled=enabled, client=client):
        run(graph, {})
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
    assert expected <= set(server.names)
    assert bool(server.names) is enabled
