"""The API agent with a real server: logins, errors, repetitions."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from antiphon.models import scripted
from antiphon.systems import DataAnalyst, OrchestratorResponse
from antiphon.tools import http_api

CATALOGUE = """
sections:
  - id: orders
    content: |
      - GET `/v1/orders` list of orders
      - GET `/v1/orders/:id/items/:idx` one item of an order
      - POST `/v1/orders` new order
"""


@dataclass
class Api:
    """A server that answers from a script, and remembers its requests.

    Attributes:
        replies: status and body of each reply, in order; status 0 for a connection that is cut,
            and -1 for one that is not answered before the end.
        tokens: what the token endpoint hands out, in order; nothing after them.
        answer: what replies in place of the script, by the path and the Authorization.
        requests: method, path, Authorization and body of each request.
        end: set when the server ends.
    """

    replies: list[tuple[int, Any]]
    tokens: list[str] = field(default_factory=list)
    answer: Callable[[str, str], tuple[int, Any]] | None = None
    requests: list[tuple[str, str, str | None, Any]] = field(default_factory=list)
    url: str = ""
    end: threading.Event = field(default_factory=threading.Event)

    def reply(self, command: str, path: str, login: str | None, body: bytes) -> tuple[int, Any]:
        if self.answer is not None:
            return self.answer(path, login or "")
        if path == "/token":
            if not self.tokens:
                return 400, {"error": "invalid_client"}
            return 200, {"access_token": self.tokens.pop(0), "expires_in": 3600}
        self.requests.append((command, path, login, json.loads(body) if body else None))
        status, reply = self.replies.pop(0)
        if status < 0:
            self.end.wait()
        return status, reply


@contextmanager
def serving(
    *replies: tuple[int, Any],
    tokens: tuple[str, ...] = (),
    answer: Callable[[str, str], tuple[int, Any]] | None = None,
) -> Iterator[Api]:
    api = Api(list(replies), list(tokens), answer)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            login = self.headers.get("authorization")
            status, reply = api.reply(self.command, self.path, login, body)
            if status < 1:
                self.connection.close()
                return
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        api.end.set()
        server.shutdown()
        server.server_close()
        thread.join()


def token_auth(api: Api, client: str = "me") -> dict[str, Any]:
    return {
        "type": "token",
        "url": f"{api.url}/token",
        "grant": "client_credentials",
        "client_id": client,
        "client_secret": "~s3cr3t-of-the-client",
    }


def ask(
    api: Api,
    plan: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    store: Path | None = None,
    **options: Any,
) -> OrchestratorResponse:
    call = {"make_request": True, "method": "GET", "path": "/v1/orders", **(plan or {})}
    tools = http_api(CATALOGUE, base_url=api.url, allow=["loopback"], **options)
    return DataAnalyst(
        api=tools,
        sandbox=False,
        planner=scripted([]),
        api_planner=scripted([{"json": call}]),
        api_answerer=scripted([{"json": {"answer": "Order 7 was found."}}]),
        composer=scripted([{"json": {"answer": "That is what the API says."}}]),
        sql_writer=scripted([]),
        sql_reviewer=scripted([]),
        sql_answerer=scripted([]),
        coder=scripted([]),
        summariser=scripted([]),
        checkpointer=None if store is None else f"sqlite:{store}",
    ).run(
        "Which orders does the endpoint return?",
        facts=facts,
        trace=True,
        thread=None if store is None else "t",
    )


def trace_event(one: Any) -> dict[str, Any]:
    """An event as those who watch a question get it."""
    shown = {name: getattr(one, name) for name in ("agent", "event_type", "message", "data")}
    return {**shown, "data": dict(one.data)}


def events(found: OrchestratorResponse, kind: str) -> list[Any]:
    return [one for one in found.trace_events if one.event_type == kind]


FOUND = (200, [{"id": 7}])


def test_a_token_is_renewed_once_after_401() -> None:
    """DA-20 of `docs/systems/data-analyst.md`."""
    with serving((401, {}), FOUND, tokens=("~old-token-1", "~new-token-2")) as api:
        found = ask(api, auth=token_auth(api))
    assert found.outcome == "answered"
    assert [one[2] for one in api.requests] == ["Bearer ~old-token-1", "Bearer ~new-token-2"]
    notes = [event.message for event in found.trace_events if event.event_type == "message"]
    assert "the token was renewed after status 401" in notes
    with serving((401, {}), (401, {}), tokens=("~old-token-1", "~new-token-2")) as api:
        failed = ask(api, auth=token_auth(api))
    assert (len(api.requests), failed.outcome) == (2, "no_answer")
    assert failed.agent_results[0].error is not None
    assert failed.agent_results[0].error.type == "HttpError"
    with serving((401, {})) as api:
        direct = ask(api, auth={"type": "bearer", "token": "the-only-token"})
    assert (len(api.requests), direct.outcome) == (1, "no_answer")


RULE = {
    "when_error_mentions": ["start", "end"],
    "set": {"start": "{today}", "end": "{today}"},
}


def test_parameters_that_the_server_asks_for_are_added_once() -> None:
    """DA-21 of `docs/systems/data-analyst.md`."""
    complaint = (400, {"error": "start and end are required"})
    with serving(complaint, FOUND) as api:
        found = ask(api, adjustments=[RULE])
    assert found.outcome == "answered"
    assert "start=" in api.requests[1][1]
    assert "end=" in api.requests[1][1]
    with serving(complaint, complaint) as api:
        failed = ask(api, adjustments=[RULE])
    assert (len(api.requests), failed.outcome) == (2, "no_answer")


@pytest.mark.parametrize(
    ("zone", "hours"), [("Pacific/Kiritimati", 14), ("Pacific/Pago_Pago", -11)]
)
def test_today_is_that_of_the_time_zone_of_the_facts(zone: str, hours: int) -> None:
    """DA-21 of `docs/systems/data-analyst.md`."""

    def today() -> str:
        return datetime.now(timezone(timedelta(hours=hours))).date().isoformat()

    before = today()
    with serving((400, {"error": "start and end are required"}), FOUND) as api:
        found = ask(api, facts={"timezone": zone}, adjustments=[RULE])
    assert found.outcome == "answered", found.error
    assert api.requests[1][1] in {f"/v1/orders?start={day}&end={day}" for day in (before, today())}


def test_a_time_zone_that_there_is_not_fails_before_a_request_if_a_date_may_be_added() -> None:
    mars = {"timezone": "Mars"}
    with serving((400, {"error": "start and end are required"})) as api:
        failed = ask(api, facts=mars, adjustments=[RULE])
    (result,) = failed.agent_results
    assert result.error is not None
    assert "no IANA time zone: Mars" in result.error.message
    assert api.requests == []
    with serving(FOUND) as api:
        assert ask(api, facts=mars).outcome == "answered"


def test_a_renewal_and_an_adjustment_take_three_requests() -> None:
    """DA-22 of `docs/systems/data-analyst.md`."""
    complaint = (400, {"error": "start and end are required"})
    with serving((401, {}), complaint, FOUND, tokens=("one-token", "two-token")) as api:
        found = ask(api, auth=token_auth(api), adjustments=[RULE])
    assert (len(api.requests), found.outcome) == (3, "answered")


def test_placeholders_are_filled_by_their_whole_names() -> None:
    """DA-23 of `docs/systems/data-analyst.md`."""
    path = "/v1/orders/:id/items/:idx"
    with serving(FOUND) as api:
        ask(api, {"path": path, "path_params": {"id": 7, "idx": 9}})
    assert api.requests[0][1] == "/v1/orders/7/items/9"
    with serving() as api:
        missing = ask(api, {"path": path, "path_params": {"id": 7}})
    assert (api.requests, missing.outcome) == ([], "no_answer")
    error = missing.agent_results[0].error
    assert error is not None
    assert (error.type, error.details["path_parameters"]) == ("PathResolutionError", ["id"])


SECRET = "~the-secret-that-nobody-sees"
PROFILES: dict[str, dict[str, Any]] = {
    "bearer": {"type": "bearer", "token": SECRET},
    "header": {"type": "api_key", "name": "X-Key", "key": SECRET},
    "query": {"type": "api_key", "name": "key", "key": SECRET, "location": "query"},
    "token": {},
}
ECHO = [{"id": 7, "echo": f"Bearer {SECRET}, ?key={SECRET}"}]
OUTCOMES = {
    "found": ((200, ECHO), "answered", None),
    "refused": ((403, ECHO), "no_answer", "HttpError"),
    "absent": ((404, ECHO), "no_answer", "HttpError"),
    "cut": ((0, None), "no_answer", "HttpRequestError"),
    "unanswered": ((-1, None), "no_answer", "HttpRequestError"),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_no_secret_is_in_what_a_caller_reads(outcome: str, profile: str, tmp_path: Path) -> None:
    """DA-25 of `docs/systems/data-analyst.md`."""
    reply, ends, error = OUTCOMES[outcome]
    store = tmp_path / "threads.db"
    with serving(reply, reply, tokens=(SECRET, SECRET)) as api:
        auth = PROFILES[profile] or {**token_auth(api), "client_secret": SECRET}
        timeout = 0.3 if outcome == "unanswered" else 30
        found = ask(api, store=store, auth=auth, timeout=timeout)
    sent = [f"{path} {header}" for _, path, header, _ in api.requests]
    shown = "" if profile == "header" else SECRET
    assert sent, "the request was made"
    assert all(shown in one.replace("%7E", "~") for one in sent), "with the login"
    (result,) = found.agent_results
    assert (found.outcome, result.error and result.error.type) == (ends, error)
    requests = events(found, "tool")
    assert [one.data["url"] for one in requests] == [f"{api.url}/v1/orders"] * len(sent)
    written = json.dumps(found.to_dict(events=True)).encode()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"Which orders does the endpoint return?" in stored, "the thread is readable"
    encoded = base64.b64encode(SECRET.encode()).decode()
    for form in (SECRET, SECRET.replace("~", "%7E"), encoded):
        assert form.encode() not in written
        assert form.encode() not in stored


def test_every_request_is_an_event_with_its_status_and_time() -> None:
    """DA-59 of `docs/systems/data-analyst.md`."""
    complaint = (400, {"error": "start and end are required"})
    with serving((401, {}), complaint, FOUND, tokens=("~old-token-1", "~new-token-2")) as api:
        found = ask(api, auth=token_auth(api), adjustments=[RULE])
    requests = events(found, "tool")
    assert [one.data["status"] for one in requests] == [401, 400, 200]
    for one in requests:
        assert (one.data["method"], one.data["path"]) == ("GET", "/v1/orders")
        assert one.data["url"] == f"{api.url}/v1/orders", "without its query"
        assert one.data["elapsed_ms"] >= 0
    assert [one.message for one in events(found, "message")] == [
        "the token was renewed after status 401",
        "parameters were added after the server asked for them: start, end",
    ]
    with serving((503, {"error": "later"}), (503, {"error": "never"})) as api:
        failed = ask(api)
    assert [one.data["status"] for one in events(failed, "tool")] == [503, 503]
    (error,) = events(failed, "error")
    assert (error.message, error.data["type"]) == ("failed", "HttpError")
    with serving((0, None), (0, None)) as api:
        lost = ask(api)
    requests = events(lost, "tool")
    assert [one.data["status"] for one in requests] == [None, None]
    assert all(one.data["error"] for one in requests)
    report = DataAnalyst.progress_reporter.event_reports["trace_event"]
    lines = [line.text for one in requests for line in report(trace_event(one))]
    assert lines == [f"api_docs: GET /v1/orders: {one.data['error']}" for one in requests]
    (error,) = events(lost, "error")
    assert error.data["type"] == "HttpRequestError"
    assert lost.agent_results[0].error is not None
    assert lost.agent_results[0].error.details["url"] == f"{api.url}/v1/orders"


def test_a_token_that_cannot_be_had_fails_no_read_that_needs_none() -> None:
    """DA-60 of `docs/systems/data-analyst.md`."""
    with serving(FOUND) as api:
        found = ask(api, auth=token_auth(api))
    assert found.outcome == "answered"
    assert [one[2] for one in api.requests] == [None]
    (note,) = events(found, "message")
    assert note.message.startswith("the request was sent without a token: no token from")
    with serving((401, {})) as api:
        refused = ask(api, auth=token_auth(api))
    assert refused.agent_results[0].error is not None
    error = refused.agent_results[0].error
    assert (error.type, error.details["auth"], error.details["status"]) == ("HttpError", True, 401)
    assert error.details["code"] == "api_token_failed"
    with serving() as api:
        change = {"method": "POST", "json_body": {"item": "lamp"}}
        unsent = ask(api, change, auth=token_auth(api), writes=True)
    assert (api.requests, unsent.outcome) == ([], "no_answer")


def test_a_call_that_changes_something_is_sent_once() -> None:
    """DA-26 of `docs/systems/data-analyst.md`."""
    plan = {"method": "POST", "json_body": {"item": "lamp"}}
    with serving((201, {"id": 7})) as api:
        found = ask(api, plan, writes=True)
    assert found.outcome == "answered"
    assert api.requests == [("POST", "/v1/orders", None, {"item": "lamp"})]
    with serving((0, None)) as api:
        lost = ask(api, plan, writes=True)
    assert (len(api.requests), lost.outcome) == (1, "no_answer")
    with serving() as api:
        refused = ask(api, plan)
    assert (api.requests, refused.outcome) == ([], "no_answer")


def test_tokens_of_two_users_do_not_mix_when_they_ask_at_once() -> None:
    """DA-36 of `docs/systems/data-analyst.md`."""
    both = threading.Barrier(2, timeout=30)
    issued: dict[str, int] = {}

    def answer(path: str, authorization: str) -> tuple[int, Any]:
        # Each request waits for the one of the other user.
        both.wait()
        if path == "/token":
            pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            client, _, secret = pair.partition(":")
            assert secret == f"~s3cr3t-of-{client}"
            issued[client] = issued.get(client, 0) + 1
            return 200, {"access_token": f"~token-{issued[client]}-of-{client}", "expires_in": 3600}
        token = authorization.removeprefix("Bearer ~token-")
        number, _, client = token.partition("-of-")
        if number == "1":
            return 401, {"error": "renew it"}
        return 200, [{"id": 7, "owner": client}]

    def asked_by(user: str) -> OrchestratorResponse:
        login = {**token_auth(api, user), "client_secret": f"~s3cr3t-of-{user}"}
        return ask(api, auth=login, principal=user)

    with serving(answer=answer) as api, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(asked_by, ("zoe-17", "yan-29")))
    for user, response in zip(("zoe-17", "yan-29"), found, strict=True):
        assert response.outcome == "answered", response.error
        assert response.data is not None
        assert response.data.rows == ({"id": 7, "owner": user},)
        other = "yan-29" if user == "zoe-17" else "zoe-17"
        assert other not in json.dumps(response.to_dict(events=True))
    assert issued == {"zoe-17": 2, "yan-29": 2}
