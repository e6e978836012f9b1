"""`antiphon.tools.http_api`: settings, calls and errors, as Python sees them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.errors import AuthError, PolicyError, ValidationError
from antiphon.tools import http_api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CATALOGUE = """
sections:
  - id: orders
    content: |
      - GET `/orders` list of orders
      - POST `/orders` create an order
"""
KEY = "~key-of-ada-4711"


class _Orders(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(200 if self.headers["X-Key"] == KEY else 403, [{"id": 1, "key": KEY}])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(201, {"created": body})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Orders)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _auth(key: str) -> dict[str, str]:
    return {"type": "api_key", "name": "X-Key", "key": key}


def test_endpoints_are_called_and_secrets_stay_here(address: str, tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text(CATALOGUE)
    options: Any = {"base_url": address, "auth": _auth(KEY), "allow": ["loopback"]}
    endpoints, read, write = http_api(path, writes=True, **options).tools
    assert (read.side_effect, write.side_effect) == ("read", "external")
    assert endpoints.call({"question": "create"})["endpoints"][0]["method"] == "POST"
    reply = read.call({"method": "GET", "path": "/orders"})
    assert reply["table"]["rows"] == [[1, "***"]]
    reply = write.call({"method": "POST", "path": "/orders", "body": {"item": "cup"}})
    assert reply["data"] == {"created": {"item": "cup"}}
    assert len(http_api(CATALOGUE, **options).tools) == 2


def test_a_refused_login_is_an_auth_error_without_the_key(address: str) -> None:
    wrong = "~wrong-key-of-bo-99"
    _, read = http_api(CATALOGUE, base_url=address, auth=_auth(wrong), allow=["loopback"]).tools
    with pytest.raises(AuthError) as caught:
        read.call({"method": "GET", "path": "/orders"})
    assert caught.value.code == "api_unauthorized"
    assert wrong not in f"{caught.value!r} {caught.value}"


def test_a_credential_of_another_type_is_not_in_the_error(address: str) -> None:
    given: Any = {"type": "bearer", "token": 123456}
    with pytest.raises(ValidationError, match="a field of `auth` must be a string") as caught:
        http_api(CATALOGUE, base_url=address, auth=given)
    assert "123456" not in f"{caught.value!r} {caught.value}"
    assert "its fields are type, token" in str(caught.value)


def test_this_machine_is_reached_only_if_it_is_allowed(address: str) -> None:
    _, read = http_api(CATALOGUE, base_url=address).tools
    with pytest.raises(PolicyError) as caught:
        read.call({"method": "GET", "path": "/orders"})
    assert caught.value.code == "address_refused"


def test_wrong_settings_are_named() -> None:
    settings: Any
    for settings, message in [
        ({}, "`base_url` is missing"),
        ({"base_url": "x"}, "`base_url` must be"),
        ({"base_url": "https://a.example", "allow": ["??"]}, "`allow` has a malformed rule"),
        ({"base_url": "https://a.example", "auth": {"type": "magic"}}, "`auth.type` must be"),
        ({"auth": {"type": "bearer", "token": b"x"}}, "`auth` of .* has no JSON form"),
        ({"known_values": {"day": 10**30}}, "`known_values` of .* has no JSON form"),
        ({"base_url": "https://a.example", "auth": _auth("")}, "lacks a field: key"),
    ]:
        with pytest.raises(ValidationError, match=message) as caught:
            http_api(CATALOGUE, **settings)
        assert caught.value.code == "tool_setting_invalid"
