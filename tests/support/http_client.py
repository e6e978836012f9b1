"""A client of ``antiphon.server`` that shows what is on the wire."""

from __future__ import annotations

import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENOUGH = 60
"""Seconds after which a reply does not come any more."""


@dataclass(frozen=True)
class Reply:
    """A reply with a JSON body."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def code(self) -> str:
        """The code of the failure that it tells."""
        return str(self.body["error"]["code"])


@dataclass(frozen=True)
class ServerSentEvent:
    """An event of a stream."""

    name: str
    data: Any
    number: int | None = None


class EventStream:
    """Events as they arrive; comments have the name ``:``."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = {key.lower(): value for key, value in response.getheaders()}

    def __iter__(self) -> Iterator[ServerSentEvent]:
        fields: dict[str, str] = {}
        while line := self._response.readline().decode():
            if line != "\n":
                name, _, value = line.rstrip("\n").partition(":")
                fields[name or ":"] = value.removeprefix(" ")
                continue
            number = int(fields["id"]) if "id" in fields else None
            data = json.loads(fields["data"]) if "data" in fields else fields.get(":")
            yield ServerSentEvent(fields.get("event", ":"), data, number)
            fields = {}


def connect(url: str) -> http.client.HTTPConnection:
    """A connection, which the caller closes."""
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=_ENOUGH)


def send(url: str, method: str, path: str, body: Any = None, **headers: str) -> Reply:
    """Sends a request of its own connection; bytes go as they are, other bodies as JSON."""
    connection = connect(url)
    try:
        request(connection, method, path, body, **headers)
        response = connection.getresponse()
        text = response.read().decode()
        got = {key.lower(): value for key, value in response.getheaders()}
        return Reply(response.status, got, json.loads(text) if text else None)
    finally:
        connection.close()


def ask(url: str, question: Any, thread: str | None = None, **headers: str) -> Reply:
    """Asks a question."""
    kept = {} if thread is None else {"thread": thread}
    return send(url, "POST", "/runs", {"question": question, **kept}, **headers)


@contextmanager
def events(url: str, path: str, body: Any) -> Iterator[EventStream]:
    """The events of a run; leaving the block closes the connection."""
    connection = connect(url)
    response = None
    try:
        request(connection, "POST", path, body, accept="text/event-stream")
        response = connection.getresponse()
        yield EventStream(response)
    finally:
        # The response holds the socket, too.
        if response is not None:
            response.close()
        connection.close()


def request(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **more: str
) -> None:
    """Sends a request without waiting for the reply."""
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    headers = {} if body is None else {"content-type": "application/json"}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    connection.request(method, path, content, headers)
