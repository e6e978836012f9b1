"""The API agent with a real server: logins, errors, repetitions."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        replies: status and body of each reply, in order.
        tokens: what the token endpoint hands out, in order.
        requests: method, path, Authorization and body of each request.
    """

    replies: list[tuple[int, Any]]
    tokens: list[str] = field(default_factory=list)
    requests: list[tuple[str, str, str | None, Any]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(*replies: tuple[int, Any], tokens: tuple[str, ...] = ()) -> Iterator[Api]:
    api = Api(list(replies), list(tokens))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            if self.path == "/token":
                status, reply = 200, {"access_token": api.tokens.pop(0), "expires_in": 3600}
            else:
                given = json.loads(body) if body else None
                header = self.headers.get("authorization")
                api.requests.append((self.command, self.path, header, given))
                status, reply = api.replies.pop(0)
            if status == 0:
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
    ).run("Which orders does the endpoint return?", facts=facts, trace=True)


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


def test_no_secret_is_in_what_a_caller_reads() -> None:
    """DA-25 of `docs/systems/data-analyst.md`."""
    secret = "~the-token-that-nobody-sees"
    with serving((200, [{"id": 7, "echo": f"Bearer {secret}"}])) as api:
        found = ask(api, auth={"type": "bearer", "token": secret})
    assert api.requests[0][2] == f"Bearer {secret}"
    assert secret not in json.dumps(found.to_dict(events=True))
    with serving((0, None), (0, None)) as api:
        lost = ask(api, auth={"type": "bearer", "token": secret})
    assert lost.outcome == "no_answer"
    assert lost.agent_results[0].error is not None
    assert lost.agent_results[0].error.type == "HttpRequestError"
    assert secret not in json.dumps(lost.to_dict(events=True))


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


def test_tokens_of_two_users_do_not_mix() -> None:
    """DA-36 of `docs/systems/data-analyst.md`."""
    with serving(FOUND, FOUND, tokens=("token-of-ann", "token-of-ben")) as api:
        first = ask(api, auth=token_auth(api, "ann"), principal="ann")
        second = ask(api, auth=token_auth(api, "ben"), principal="ben")
    assert {first.outcome, second.outcome} == {"answered"}
    assert [one[2] for one in api.requests] == ["Bearer token-of-ann", "Bearer token-of-ben"]
