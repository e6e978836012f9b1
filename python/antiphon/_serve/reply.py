"""Replies: JSON, and server-sent events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Send

_SAFE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment, which clients ignore and proxies see."""


async def send_json(send: Send, status: int, body: Any, headers: Mapping[str, str] = {}) -> None:
    """Sends a reply of one JSON value."""
    text = _json(body)
    length = {"Content-Type": "application/json", "Content-Length": str(len(text))}
    await _begin(send, status, {**length, **headers})
    await send({"type": "http.response.body", "body": text})


async def begin_events(send: Send) -> None:
    """Begins a stream of events; proxies are asked not to hold it back."""
    await _begin(send, 200, {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})


def event_chunk(name: str, data: Any, number: int | None = None) -> bytes:
    """An event as it is sent."""
    mark = b"" if number is None else f"id: {number}\n".encode()
    # JSON as written here has no line breaks.
    return mark + f"event: {name}\ndata: ".encode() + _json(data) + b"\n\n"


async def send_chunk(send: Send, chunk: bytes) -> None:
    """Sends a piece of a stream."""
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def end_events(send: Send) -> None:
    """Ends a stream."""
    await send({"type": "http.response.body", "body": b""})


async def _begin(send: Send, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(key.lower().encode(), value.encode()) for key, value in {**headers, **_SAFE}.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
