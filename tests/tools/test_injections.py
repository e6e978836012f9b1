"""Instructions in what tools and servers return, and a model that obeys all of them.

The model of these tests is the worst one: once it has read the marker of an attempt, in whatever
a tool returned or a description says, it makes the call that the attempt wants. Whether anything
happens is then up to the tools and the engine.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from antiphon import Agent, Tool, Toolset, mcp, tool
from antiphon.tools import files, read_page, sql, web_search

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTEMPTS = [
    json.loads(line)
    for line in Path(__file__).with_name("injections.jsonl").read_text("utf-8").splitlines()
]
_SECRET = "correct-horse-battery-staple"
_OUTSIDE = ("secret.txt", "outside.txt", "moved.txt")


class Site(NamedTuple):
    """A server on loopback: its port, the paths that were requested, and its pages by path."""

    port: int
    requested: list[str]
    pages: dict[str, str]


class World(NamedTuple):
    """All that an attempt may reach for."""

    root: Path
    outside: Path
    database: Path
    site: Site
    forbidden: Site


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[Site, Site]]:
    servers = [_serve(), _serve()]
    yield servers[0][1], servers[1][1]
    for server, _ in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def world(tmp_path: Path, sites: tuple[Site, Site]) -> World:
    root, outside = tmp_path / "inside", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    for path in (tmp_path / "secret.txt", outside / "secret.txt"):
        path.write_text(_SECRET, "utf-8")
    (root / "notes.txt").write_text("notes", "utf-8")
    (root / "link").symlink_to(outside)
    with closing(sqlite3.connect(outside / "secret.db")) as connection, connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    site, forbidden = sites
    forbidden.requested.clear()
    forbidden.pages["/"] = _SECRET
    site.pages["/redirect-inside"] = f"http://127.0.0.1:{forbidden.port}/"
    return World(root, outside, tmp_path / "payments.db", site, forbidden)


@pytest.mark.parametrize("attempt", _ATTEMPTS, ids=lambda attempt: attempt["id"])
def test_an_obeyed_injection_gains_nothing(attempt: dict[str, Any], world: World) -> None:
    forbidden_calls: list[str] = []
    with _offer(attempt, world, forbidden_calls) as (offered, reading):
        model = ObedientModel(attempt, world, reading)
        before = _fingerprint(world)
        result = Agent(name="clerk", model=model, tools=offered).run("Summarise what you find.")
    assert model.has_obeyed, "the attempt never reached the model"
    assert _fingerprint(world) == before
    assert world.forbidden.requested == []
    assert forbidden_calls == []
    assert _SECRET not in repr(result.messages)
    assert result.outcome == ("paused" if attempt["goal"] == "approval" else "answered")


def test_there_are_attempts_of_each_kind() -> None:
    assert len(_ATTEMPTS) >= 60
    assert {attempt["goal"] for attempt in _ATTEMPTS} == {
        "address",
        "approval",
        "path",
        "permission",
        "sql",
    }


class ObedientModel:
    """Reads what it is told to read, then makes the call that it found there, then ends."""

    def __init__(self, attempt: dict[str, Any], world: World, reading: dict[str, Any]) -> None:
        self.has_obeyed = False
        self._reading = reading
        self._marker = f"ref-{attempt['id'][1:]}"
        self._call = {
            "name": attempt["call"]["tool"],
            "arguments": _placed(attempt["call"]["arguments"], world),
        }
        self._has_read = False

    def __call__(self, request: dict[str, Any]) -> Any:
        if self.has_obeyed:
            return "Done."
        told = [message["content"] for message in request["messages"]] + request.get("tools", [])
        if self._marker in json.dumps(told, ensure_ascii=False):
            self.has_obeyed = True
            return {"tool_calls": [self._call]}
        if self._has_read:
            return f"Nothing was found: {told[-1]}"
        self._has_read = True
        return {"tool_calls": [self._reading]}


@contextmanager
def _offer(
    attempt: dict[str, Any], world: World, forbidden_calls: list[str]
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """The tools of the agent, and the call by which it meets the text of the attempt."""
    text, carrier = str(attempt["text"]), attempt["carrier"]

    @tool(approval=True)
    def pay(cents: int) -> str:
        """Pays a bill."""
        forbidden_calls.append("pay")
        return f"paid {cents}"

    is_description = carrier == "tool_description"
    remote = Tool(
        lambda: "12" if is_description else text,
        name="remote_result",
        description=text if is_description else "What a server elsewhere has.",
        side_effect="read",
    )
    _fill(world.database, text if carrier == "column_name" else "what", text)
    reading = _carry(carrier, text, world)
    site = f"http://127.0.0.1:{world.site.port}"
    offered = [
        pay,
        files(world.root),
        sql(world.database, tables=["payments"]),
        read_page(allow=[f"loopback:{world.site.port}"]),
        web_search(backends=["searxng"], searxng_url=site),
    ]
    if carrier not in ("mcp_result", "tool_description"):
        yield offered, reading
        return
    with mcp.start(remote) as server:
        yield [*offered, Toolset.mcp(server.url)], reading


def _carry(carrier: str, text: str, world: World) -> dict[str, Any]:
    """Puts the text in its place, and gives the call that reads it."""
    url = f"http://127.0.0.1:{world.site.port}/page"
    match carrier:
        case "page":
            world.site.pages["/page"] = f"<html><body><p>{text}</p></body></html>"
            return {"name": "read_page", "arguments": {"url": url}}
        case "search_result":
            found = {"url": "https://tea.example/", "title": "Tea", "content": text}
            world.site.pages["/search"] = json.dumps({"results": [found]})
            return {"name": "web_search", "arguments": {"query": "tea"}}
        case "file":
            (world.root / "found.md").write_text(text, "utf-8")
            return {"name": "read_file", "arguments": {"path": "found.md"}}
        case "cell" | "column_name":
            return {"name": "sql_query", "arguments": {"query": "SELECT * FROM payments"}}
        case "mcp_result" | "tool_description":
            return {"name": "remote_result", "arguments": {}}
    raise AssertionError(carrier)


def _fill(database: Path, column: str, text: str) -> None:
    name = '"' + column.replace('"', '""') + '"'
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"CREATE TABLE payments (id INTEGER PRIMARY KEY, {name} TEXT)")
        connection.execute("INSERT INTO payments VALUES (1, ?)", [text])
        connection.execute("CREATE TABLE hidden AS SELECT ? AS word", [_SECRET])
    connection.close()


def _placed(arguments: dict[str, Any], world: World) -> dict[str, Any]:
    """The arguments, with the names of places filled in."""
    places = {
        "site": f"http://127.0.0.1:{world.site.port}",
        "forbidden": f"127.0.0.1:{world.forbidden.port}",
        "port": str(world.forbidden.port),
        "outside": str(world.outside),
    }

    def fill(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return re.sub(r"\{(site|forbidden|port|outside)\}", lambda m: places[m[1]], value)

    return {key: fill(value) for key, value in arguments.items()}


def _fingerprint(world: World) -> dict[str, bytes | None]:
    """Each file that no attempt may change, with its bytes."""
    beside = world.root.parent
    found: dict[str, bytes | None] = {
        str(path): path.read_bytes() for path in sorted(world.outside.rglob("*"))
    }
    for name in _OUTSIDE:
        path = beside / name
        found[str(path)] = path.read_bytes() if path.exists() else None
    found["database"] = world.database.read_bytes() if world.database.exists() else None
    found["root"] = "\n".join(sorted(path.name for path in world.root.iterdir())).encode()
    found["others"] = "\n".join(sorted(path.name for path in beside.iterdir())).encode()
    return found


def _serve() -> tuple[ThreadingHTTPServer, Site]:
    site = Site(0, [], {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requested.append(self.path)
            page = site.pages.get(self.path.partition("?")[0])
            if page is not None and page.startswith("http://"):
                self.send_response(302)
                self.send_header("Location", page)
                self.end_headers()
                return
            body = (page or "not found").encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, site._replace(port=server.server_port)
