"""The least of an OpenAI client, to look at what really comes over the wire."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from antiphon.local import LocalServer


def request(
    server: LocalServer,
    path: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Sends with exactly the given headers, so without the key unless it is among them."""
    address = urlsplit(server.base_url)
    connection = http.client.HTTPConnection(address.netloc, timeout=120)
    try:
        connection.request(
            "POST" if body is not None else "GET",
            f"{address.path}{path}",
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json"} | (headers or {}),
        )
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def chat(server: LocalServer, question: str | list[Any], **options: Any) -> Any:
    """The whole reply to one question."""
    return json.loads(_complete(server, question, options))


def stream(server: LocalServer, question: str, **options: Any) -> list[Any]:
    """The chunks of a streamed reply, with usage at the end."""
    options |= {"stream": True, "stream_options": {"include_usage": True}}
    lines = _complete(server, question, options).decode().splitlines()
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def _complete(server: LocalServer, question: Any, options: dict[str, Any]) -> bytes:
    messages = [{"role": "user", "content": question}] if isinstance(question, str) else question
    body = {"model": server.model, "messages": messages, "temperature": 0, "max_tokens": 100}
    status, _, content = request(
        server, "/chat/completions", body | options, {"Authorization": f"Bearer {server.api_key}"}
    )
    assert status == 200, content
    return content
