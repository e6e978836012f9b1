"""The agentic search over registries of tools that speak MCP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Toolset
from antiphon.errors import ValidationError
from antiphon.models import scripted
from antiphon.systems import AgenticSearch, AgenticSearchResult
from support.mcp_peers import sdk_environment
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVER = Path(__file__).with_name("registry_server.py")
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Registry(ThreadingHTTPServer):
    """A registry that notes what it is asked, and answers calls as it is told."""

    daemon_threads = True

    def __init__(self, call: Callable[[Registry, Any, str | None], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.call = call
        self.methods: list[str] = []
        self.session: str | None = "first"
        self.tools = ["search"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


class Reply:
    """What the registry sends."""

    def __init__(self, body: str = "", status: int = 200, **headers: str) -> None:
        self.body, self.status, self.headers = body.encode(), status, headers


def result(request: Any, value: Any) -> Reply:
    body = {"jsonrpc": "2.0", "id": request["id"], "result": value}
    return Reply(json.dumps(body), Content_Type="application/json")


def text(request: Any, words: str) -> Reply:
    return result(request, {"content": [{"type": "text", "text": words}]})


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = request.get("method", "")
        self.server.methods.append(method)
        self.send(self.reply(method, request))

    def reply(self, method: str, request: Any) -> Reply:
        if "id" not in request:
            return Reply(status=202)
        if method == "initialize":
            info = {"name": "registry", "version": "1"}
            value = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            started = result(request, {**value, "serverInfo": info})
            if self.server.session is not None:
                started.headers["Mcp-Session-Id"] = self.server.session
            return started
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": SCHEMA} for name in self.server.tools]
            return result(request, {"tools": tools})
        if method == "tools/call":
            return self.server.call(self.server, request, self.headers["Mcp-Session-Id"])
        error = {"code": -32601, "message": f"no such method: {method}"}
        body = {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return Reply(json.dumps(body), Content_Type="application/json")

    def do_GET(self) -> None:
        self.send(Reply(status=405))

    def do_DELETE(self) -> None:
        self.server.methods.append("DELETE")
        self.send(Reply())

    def send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def registry(call: Callable[[Registry, Any, str | None], Reply]) -> Iterator[Registry]:
    server = Registry(call)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def task(tool: str, query: str) -> dict[str, Any]:
    return {"tool_name": tool, "tool_arguments": {"query": query}}


def search(url: Any, *tasks: dict[str, Any], **settings: Any) -> AgenticSearch:
    plans = {"json": {"tasks": list(tasks) or [task("search", "tea")]}}
    words = {"json": {"response_content": "<p>Found.</p>"}}
    return AgenticSearch(scripted([plans, words] * 3), registry=url, **settings)


def only_error(found: AgenticSearchResult) -> str:
    (failed,) = found.gathered_information.failed
    assert failed.error is not None
    return failed.error.type


def test_a_session_is_opened_once_and_deleted_at_the_end() -> None:
    with registry(lambda server, request, _: text(request, server.methods[-1])) as server:
        found = search(server.url, task("search", "a"), task("search", "b")).run("Tea?")
        assert found.answer == "Found."
        assert len(found.gathered_information.task_results) == 2
        assert server.methods.count("initialize") == 1
        assert server.methods.count("tools/list") == 1
        assert server.methods[-1] == "DELETE"


def test_a_refused_connection_is_no_answer_and_asks_no_model() -> None:
    """AS-11 of docs/systems/agentic-search.md."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    alone = search(f"http://127.0.0.1:{port}/mcp")
    found = alone.run("What is <b>?")
    assert (found.outcome, found.search_outcome) == ("no_answer", "no_tools")
    assert (found.usage.model_calls, found.error and found.error.code) == (0, "mcp_unreachable")
    assert "What is &lt;b&gt;?" in found.html


def test_a_stream_with_a_notification_and_many_lines_is_read() -> None:
    """AS-18 of docs/systems/agentic-search.md."""

    def call(_: Registry, request: Any, session: str | None) -> Reply:
        del session
        notice = {"level": "info", "data": "working"}
        first = {"jsonrpc": "2.0", "method": "notifications/message", "params": notice}
        value = {"content": [{"type": "text", "text": "12 stories"}]}
        last = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}, indent=1)
        lines = "".join(f"data: {line}\r\n" for line in last.splitlines())
        body = f": begins\r\n\r\nid: 1\r\ndata: {json.dumps(first)}\r\n\r\n{lines}\r\n"
        return Reply(body, Content_Type="text/event-stream")

    with registry(call) as server:
        found = search(server.url).run("Tea?")
        assert found.gathered_information.task_results[0].result == "12 stories"


def test_a_session_that_has_expired_is_opened_again_once() -> None:
    """AS-19 of docs/systems/agentic-search.md."""

    def call(server: Registry, request: Any, session: str | None) -> Reply:
        if session == "first":
            server.session = "second"
            return Reply(status=404)
        return text(request, f"in the {session} session")

    with registry(call) as server:
        found = search(server.url).run("Tea?")
        assert found.gathered_information.task_results[0].result == "in the second session"
        assert server.methods.count("initialize") == 2


def test_a_second_failure_of_the_session_is_not_hidden() -> None:
    """AS-19 of docs/systems/agentic-search.md."""
    with registry(lambda *_: Reply(status=404)) as server:
        found = search(server.url).run("Tea?")
        assert (found.outcome, found.reason) == ("no_answer", "all tasks have failed")
        assert len(found.gathered_information.failed) == 1


def test_refused_credentials_fail_the_task() -> None:
    """AS-20 of docs/systems/agentic-search.md."""
    challenge = {"WWW_Authenticate": "Bearer"}
    with registry(lambda *_: Reply(status=401, **challenge)) as server:
        found = search(server.url).run("Tea?")
        assert only_error(found) == "Auth"
        assert (found.outcome, found.answer) == ("no_answer", None)


def test_a_server_without_sessions_works() -> None:
    """AS-21 of docs/systems/agentic-search.md."""

    def call(_: Registry, request: Any, session: str | None) -> Reply:
        return text(request, f"session: {session}")

    with registry(call) as server:
        server.session = None
        found = search(server.url).run("Tea?")
        assert found.gathered_information.task_results[0].result == "session: None"


def test_an_error_of_the_tool_and_an_unknown_tool_fail_their_tasks() -> None:
    """AS-09 of docs/systems/agentic-search.md."""

    def call(server: Registry, request: Any, session: str | None) -> Reply:
        del session
        if request["params"]["arguments"]["query"] == "gone":
            server.tools = ["other"]
            error = {"code": -32601, "message": "no such tool"}
            body = {"jsonrpc": "2.0", "id": request["id"], "error": error}
            return Reply(json.dumps(body), Content_Type="application/json")
        value = {"content": [{"type": "text", "text": "the index is closed"}], "isError": True}
        return result(request, value)

    with registry(call) as server, Toolset.mcp(server.url) as tools:
        asked = search(tools, task("search", "gone"), task("search", "tea"))
        failed = asked.run("Tea?").gathered_information.failed
        errors = [one.error for one in failed if one.error is not None]
        assert [error.type for error in errors] == ["UnknownTool", "ToolError"]
        assert errors[1].message == "`search` failed: the index is closed"
        again = asked.run("Tea?")
        assert again.thinking_steps[1] == "1 tool can be used: other", "the list was read anew"


def test_a_list_is_kept_for_a_while() -> None:
    with (
        registry(lambda _, request, __: text(request, "12")) as server,
        Toolset.mcp(server.url) as tools,
    ):
        kept, fresh = search(tools), search(tools, tools_cache_s=0)
        for _ in range(3):
            kept.run("Tea?")
        assert server.methods.count("tools/list") == 1
        fresh.run("Tea?")
        assert server.methods.count("tools/list") == 2


def test_what_is_no_registry_is_refused() -> None:
    for given in (42, [42], Toolset.mcp("http://127.0.0.1:1/mcp", approval=True)):
        with pytest.raises(ValidationError) as caught:
            AgenticSearch(scripted([]), registry=given)  # type: ignore[arg-type]
        assert caught.value.code == "tool_setting_invalid"


@contextmanager
def sdk_registry() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    environment = {**os.environ, **sdk_environment("1")}
    command = [sys.executable, str(SERVER), str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            assert happens(lambda: _is_open(port))
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()


def _is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.network
@pytest.mark.slow
def test_a_registry_of_the_official_sdk_with_pages_that_grows() -> None:
    with sdk_registry() as url, Toolset.mcp(url) as tools:
        asked = search(tools, task("search_stories", "upstream"), task("grow", "more"))
        found = asked.run("How many stories?")
        assert found.thinking_steps[1] == "3 tools can be used: search_stories, count_tags, grow"
        (first, second) = found.gathered_information.task_results
        assert first.arguments == {"query": "upstream", "size": 5}
        assert second.result == {"result": "grown for more"}
        assert "Result of task 2: grown for more" in found.thinking_steps
        assert found.sources[0].location == "https://a.example/1"

        def sees_it() -> bool:
            return "later" in asked.run("Again?").thinking_steps[1]

        assert sees_it() or sees_it(), "the server tells of a change, whatever the age of the list"
