"""`antiphon.tools.web_search`: engines on loopback, keys and errors, as Python sees them."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

import pytest

from antiphon import Agent, Orchestrator
from antiphon.errors import AntiphonError, ValidationError
from antiphon.models import scripted
from antiphon.tools import web_search

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "~key-of-ada-4711"
RESULTS = [
    {
        "url": "https://tea.example/green?utm_source=x",
        "title": "Green <b>tea</b>",
        "content": "Two.",
    },
    {"url": "https://tea.example/green", "title": "Again", "content": "The same page."},
    {"url": "https://ads.example/", "title": "Buy", "content": "Now."},
    {"url": "javascript:alert(1)", "title": "Trap", "content": "No page."},
]


class Engine:
    """Answers as SearXNG and Brave do.

    Attributes:
        asked: the paths with their queries, and the tokens, so far.
        status: of each reply.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], str | None]] = []
        self.status = 200
        handler = type("Handler", (_Handler,), {"engine": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    engine: Engine

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(path.query).items()}
        token = self.headers["X-Subscription-Token"]
        self.engine.asked.append((path.path, query, token))
        brave = {"web": {"results": [{"url": "https://brave.example/", "title": "From Brave"}]}}
        body = json.dumps(brave if token else {"query": query["q"], "results": RESULTS}).encode()
        self.send_response(self.engine.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name in ("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with Engine() as engine:
        yield engine


def test_results_have_one_shape_and_each_page_once(engine: Engine) -> None:
    search = web_search(searxng_url=engine.url, exclude_domains=["ads.example"])
    assert search.side_effect == "read"
    given = {"query": "green tea & milk", "language": "de", "period": "year", "page": 2}
    reply = search.call(given)
    [found] = reply["results"]
    assert found.pop("url").startswith("https://tea.example/green")
    assert found == {"rank": 1, "title": "Green tea", "snippet": "Two.", "backend": "searxng"}
    assert "results of other domains that are left out: 1" in reply["notes"]
    [(path, query, _)] = engine.asked
    assert (path, query["q"], query["format"]) == ("/search", "green tea & milk", "json")
    assert (query["language"], query["time_range"], query["pageno"]) == ("de", "year", "2")


def test_an_agent_searches_with_the_engine_of_the_environment(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARXNG_URL", engine.url)
    call = {"name": "web_search", "arguments": {"query": "tea"}}
    model = scripted([{"tool_calls": [call]}, "Two minutes."])
    team = Orchestrator([Agent(name="host", model=model, tools=[web_search()])])
    assert team.run("How long?").answer == "Two minutes."
    assert "https://tea.example/green" in model.requests[1]["messages"][-1]["content"]


def test_a_key_goes_to_its_engine_and_into_no_error(engine: Engine) -> None:
    search = web_search(backends=["brave"], brave_api_key=KEY, base_url=engine.url)
    assert search.call({"query": "tea"})["results"][0]["backend"] == "brave"
    assert engine.asked[0][2] == KEY
    engine.status = 401
    with pytest.raises(AntiphonError) as caught:
        search.call({"query": "tea"})
    shown = f"{caught.value!r} {caught.value} {caught.value.details} {search!r}"
    assert KEY not in shown


def test_wrong_settings_are_named(engine: Engine) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "`backends` has no engine with a key or an address"),
        ({"backends": ["altavista"]}, "`backends` may hold"),
        ({"backends": ["brave"]}, "needs a key: brave"),
        ({"searxng_url": "file:///etc/passwd"}, "`searxng_url` must be an address"),
        ({"searxng_url": engine.url, "timeout": 0}, "`timeout` must be a number of seconds"),
        ({"brave_api_key": f"{KEY} {KEY}"}, "`brave_api_key` must be a key"),
    ]
    for settings, message in wrong:
        with pytest.raises(ValidationError, match=message) as caught:
            web_search(**settings)
        assert caught.value.code == "tool_setting_invalid"
        assert KEY not in f"{caught.value!r} {caught.value}"


def test_a_function_searches_in_place_of_the_engines() -> None:
    asked: list[tuple[Any, ...]] = []

    def library(query: str, *, count: int, language: str | None = None) -> list[dict[str, Any]]:
        asked.append((query, count, language))
        return [
            {
                "url": "https://tea.example/a?utm_source=x",
                "title": "<b>Tea</b>",
                "snippet": "Steep.",
            },
            {"url": "https://tea.example/a", "title": "again"},
            {"url": "https://other.example/", "published": "2026-01-02", "id": 7},
            {"url": "file:///etc/passwd", "title": "no address of the web"},
        ]

    search = web_search(function=library, exclude_domains=["none.example"])
    call = {"query": "tea", "count": 3, "language": "de", "period": "year"}
    model = scripted([{"tool_calls": [{"name": "web_search", "arguments": call}]}, "Steep it."])
    assert Agent(name="host", model=model, tools=[search]).run("?").answer == "Steep it."
    assert asked == [("tea", 3, "de")]
    found = search.call(call)
    first, second = found["results"]
    assert (first["rank"], first["title"], first["backend"]) == (1, "Tea", "library")
    assert (second["url"], second["published"]) == ("https://other.example/", "2026-01-02")
    assert found["notes"] == ["`library` has no filter for period; it was not applied"]
    only = web_search(function=library, include_domains=["other.example"])
    assert [one["url"] for one in only.call({"query": "tea"})["results"]] == [second["url"]]


def test_an_async_function_searches() -> None:
    async def library(query: str, **_: Any) -> list[dict[str, Any]]:
        return [{"url": f"https://tea.example/{query}"}]

    found = asyncio.run(web_search(function=library).acall({"query": "green"}))
    assert found["results"][0]["title"] == "https://tea.example/green"


def test_a_function_that_cannot_search_is_named() -> None:
    def needy(query: str, country: str) -> list[dict[str, Any]]:
        return [{"url": query + country}]

    with pytest.raises(ValidationError, match="needy") as caught:
        web_search(function=needy)
    assert caught.value.code == "tool_setting_invalid"

    def wordy(query: str) -> str:
        return query

    with pytest.raises(AntiphonError, match="`wordy` must return a list of dicts") as failed:
        web_search(function=wordy).call({"query": "tea"})
    assert failed.value.code == "search_failed"


def test_a_function_may_be_given_by_place_and_a_name_is_none() -> None:
    def notes(query: str) -> list[dict[str, str]]:
        return [{"url": "https://tea.example", "title": query}]

    assert web_search(notes).call({"query": "tea"})["results"][0]["title"] == "tea"
    wrong: Any = "brave"
    with pytest.raises(
        ValidationError, match="must be a function that searches: 'brave'"
    ) as caught:
        web_search(wrong)
    assert caught.value.hint == 'name engines by `backends=["brave"]`'
