"""A server on loopback that speaks the OpenAI chat wire, and misbehaves on request.

It needs the standard library alone and knows no model: the model's *name* in
the request says what happens. `BEHAVIOURS` lists the names. Use it in a test::

    with ChatServer() as server:
        client = openai.OpenAI(base_url=server.url, api_key="k")

or start it by hand: ``python tests/support/chat_server.py 8131``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

Json = dict[str, Any]

BEHAVIOURS = {
    "echo": "says `you said: ` and the last message",
    "tools": "calls each tool it is offered; once it has an answer, says `tool said: ` and that",
    "json": "writes the smallest value that fits the schema it is given",
    "length": "is cut off by the token limit",
    "refusal": "refuses in the field meant for that",
    "filter": "is stopped by a content filter",
    "parts": "says `in parts` as a list of parts",
    "status-NNN": "fails with that status, every time",
    "flaky-NNN": "fails with that status and `Retry-After: 1`, every other time",
    "quota": "fails with 429 because nothing is left to pay with",
    "echo-key": "fails with 401 and repeats the key it was given",
    "error-inside": "says half of it, then reports an error with status 200",
    "malformed": "answers with half a JSON object",
    "html": "answers with a web page",
    "cut": "says half of it and drops the connection",
    "stall": "says half of it, then nothing more",
    "huge": "says 4 MiB",
    "redirect": "points to `/elsewhere/chat/completions`, where it answers as `echo` does",
}

REASONS = {"length": "length", "filter": "content_filter"}
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True)
class Request:
    """A request as it came over the wire; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json


@dataclass(frozen=True)
class Reply:
    """What goes back: a head, and a body in pieces."""

    status: int
    pieces: list[bytes]
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    ending: str = "end"  # or "cut", or "stall"


class ChatServer:
    """Listens on a free port of this machine, in a separate thread.

    Args:
        port: where to listen; 0 for any free port.

    Attributes:
        url: the base URL for clients, with `/v1`.
        requests: what has come so far, in order.
    """

    folder = "/v1"

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self._port = port
        self._times: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chat-server", daemon=True)
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if not self.url:
            raise OSError(f"no server could be started on port: {self._port}")
        return self

    def __exit__(self, *exc: object) -> None:
        stop = self._stop
        if stop is not None:
            self._loop.call_soon_threadsafe(stop.set)
        self._thread.join()

    def wait(self) -> None:
        """Waits until the server ends; it does not by itself."""
        self._thread.join()

    def times(self, model: str) -> int:
        """How often the model was asked."""
        return self._times[model]

    def _run(self) -> None:
        try:
            with contextlib.closing(self._loop):
                self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()  # also when it could not listen

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            # A client that goes away in the middle is what some tests are about.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await self._talk(reader, writer)
            connections.discard(task)
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", self._port)
        host, port = server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}{self.folder}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for request in _requests(reader):
            self.requests.append(request)
            self._times[str(request.body.get("model", ""))] += 1
            reply = self.answer(request)
            head = {"content-type": reply.kind, "transfer-encoding": "chunked", **reply.headers}
            lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {head[name]}" for name in head)]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            for piece in reply.pieces:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            if reply.ending == "stall":
                await reader.read()  # until the client has had enough
            if reply.ending != "end":
                writer.transport.abort()
                return
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    def answer(self, request: Request) -> Reply:
        """The reply to a request."""
        if request.path.endswith("/models"):
            names = [{"id": name, "object": "model"} for name in BEHAVIOURS]
            return _json(200, {"object": "list", "data": names})
        if not request.path.endswith("/chat/completions"):
            return _error(404, "no such path", code="not_found")
        name = str(request.body.get("model", ""))
        failure = self._failure(name, request)
        return failure or _completion(name, request.body)

    def _failure(self, name: str, request: Request) -> Reply | None:
        kind, _, number = name.partition("-")
        if kind == "status" and number.isdigit():
            return _error(int(number), "no luck")
        if kind == "flaky" and number.isdigit():
            failing = self.times(name) % 2 == 1
            return _error(int(number), "once more", {"retry-after": "1"}) if failing else None
        moved = name == "redirect" and request.path.startswith("/v1/")
        if moved or name in {"quota", "echo-key", "html"}:
            return _named_failure(name, request)
        if name in BEHAVIOURS:
            return None
        return _error(404, f"no model {name!r}", code="model_not_found")


def _named_failure(name: str, request: Request) -> Reply:
    if name == "quota":
        return _error(429, "pay first", code="insufficient_quota")
    if name == "redirect":
        return Reply(307, [], headers={"location": "/elsewhere/chat/completions"})
    if name == "html":
        return Reply(200, [b"<html>hello</html>"], kind="text/html")
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    return _error(401, f"Incorrect API key provided: {key}", code="invalid_api_key")


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Request]:
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        yield Request(method, path, headers, json.loads(body) if body else {})


def _json(status: int, body: Json, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, [json.dumps(body).encode()], headers=headers or {})


def _error(
    status: int, message: str, headers: dict[str, str] | None = None, *, code: str | None = None
) -> Reply:
    error = {"message": message, "type": code or "some_error", "param": None, "code": code}
    return _json(status, {"error": error}, {"x-request-id": "req-1", **(headers or {})})


def _completion(name: str, body: Json) -> Reply:
    if body.get("stream"):
        return _streamed(name, body)
    if name == "error-inside":
        return _json(200, {"error": {"message": "busy", "code": 503}})
    choice = {"index": 0, "message": _message(name, body), "finish_reason": _reason(name, body)}
    whole = {**_envelope(name, "chat.completion"), "choices": [choice], "usage": USAGE}
    text = json.dumps(whole).encode()
    half = text[: len(text) // 2]
    if name == "malformed":
        return Reply(200, [half])
    if name in {"cut", "stall"}:
        return Reply(200, [half], ending=name)
    return Reply(200, [text])


def _streamed(name: str, body: Json) -> Reply:
    frames = [_frame(event) for event in _events(name, body)]
    kind = "text/event-stream; charset=utf-8"
    half = frames[: len(frames) // 2]
    if name in {"cut", "stall"}:
        return Reply(200, half, kind, ending=name)
    if name == "malformed":
        return Reply(200, [*half, b'data: {"choices": [\n\n'], kind)
    if name == "error-inside":
        return Reply(200, [*half, _frame({"error": {"message": "busy", "code": 503}})], kind)
    return Reply(200, [*frames, b"data: [DONE]\n\n"], kind)


def _frame(event: Json) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _events(name: str, body: Json) -> Iterator[Json]:
    envelope = _envelope(name, "chat.completion.chunk")

    def event(delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**envelope, "choices": [choice]}

    message = _message(name, body)
    yield event({"role": "assistant", "content": ""})
    for key in ("content", "refusal"):
        for word in words(message.get(key)):
            yield event({key: word})
    for index, call in enumerate(message.get("tool_calls", [])):
        opening = {**call["function"], "arguments": ""}
        yield event({"tool_calls": [{**call, "index": index, "function": opening}]})
        for piece in words(call["function"]["arguments"]):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, _reason(name, body))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**envelope, "choices": [], "usage": USAGE}


def words(text: object) -> list[str]:
    """A text, or the texts of its parts, in pieces."""
    if isinstance(text, list):
        text = "".join(part["text"] for part in text)
    if not isinstance(text, str) or not text:
        return []
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


def _envelope(name: str, kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": f"{name}-2026"}


def _reason(name: str, body: Json) -> str:
    calls = _message(name, body).get("tool_calls")
    return "tool_calls" if calls else REASONS.get(name, "stop")


def _texts(message: Json) -> str:
    """The text of a message, without its images."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part["type"] == "text")


def _message(name: str, body: Json) -> Json:
    said = _texts(body["messages"][-1])
    message: Json = {"role": "assistant", "content": f"you said: {said}", "refusal": None}
    answers = [one for one in body["messages"] if one["role"] == "tool"]
    if name == "tools" and answers:
        message["content"] = f"tool said: {_texts(answers[-1])}"
    elif name == "tools":
        calls = [_call(index, tool) for index, tool in enumerate(body.get("tools", []))]
        message.update(content=None, tool_calls=calls)
    elif name == "json":
        form = body.get("response_format", {})
        value = sample(form.get("json_schema", {}).get("schema", {}))
        message["content"] = json.dumps(value)
    elif name == "refusal":
        message.update(content=None, refusal="I will not")
    elif name == "parts":
        message["content"] = [{"type": "text", "text": word} for word in ("in ", "parts")]
    elif name == "huge":
        message["content"] = "x" * (4 << 20)
    return message


def _call(index: int, tool: Json) -> Json:
    function = tool["function"]
    arguments = json.dumps(sample(function.get("parameters", {})))
    call = {"name": function["name"], "arguments": arguments}
    return {"id": f"call-{index}", "type": "function", "function": call}


def sample(schema: Json) -> Any:
    """A small value that fits a plain schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample(schema.get("items", {}))]
    return {"integer": 1, "number": 1.5, "boolean": True, "string": "text"}.get(str(kind))


if __name__ == "__main__":
    with ChatServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0) as running:
        print(running.url, flush=True)
        running.wait()
