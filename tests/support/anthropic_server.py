"""A server on loopback that speaks Anthropic's messages API, and misbehaves on request.

As `support.chat_server`, whose connections it shares: the model's *name* in the request says what
happens. `BEHAVIOURS` lists the names. Use it in a test::

    with AnthropicServer() as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="k")
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.chat_server import ChatServer, Json, Reply, Request, sample, words

BEHAVIOURS = {
    "echo": "says `you said: ` and the last text",
    "tools": "thinks, and calls each tool it is offered; then says `tool said: ` and the results",
    "json": "writes the smallest value that fits the schema, or calls the tool it must call",
    "length": "is cut off by the token limit",
    "refusal": "is stopped by a classifier",
    "status-NNN": "fails with that status, every time",
    "flaky-NNN": "fails with that status and `Retry-After: 1`, every other time",
    "overloaded": "fails with 529",
    "echo-key": "fails with 401 and repeats the key it was given",
    "error-inside": "says half of it, then reports an error",
    "cut": "says half of it and drops the connection",
}

USAGE = {"input_tokens": 11, "output_tokens": 7}
REASONS = {"length": "max_tokens", "refusal": "refusal"}
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
THINKING = {"type": "thinking", "thinking": "I need the tools.", "signature": "c2lnbmF0dXJl"}


class AnthropicServer(ChatServer):
    """Listens on a free port of this machine, in a separate thread.

    Attributes:
        url: the base URL for clients, without `/v1`.
    """

    folder = ""

    def answer(self, request: Request) -> Reply:
        """The reply to a request, which is checked as the API does it."""
        if request.path != "/v1/messages":
            return _error(404, "no such path")
        if complaint := _complaint(request):
            return _error(400, complaint)
        name = str(request.body["model"])
        return self._refusal(name, request) or _message(name, request.body)

    def _refusal(self, name: str, request: Request) -> Reply | None:
        kind, _, number = name.partition("-")
        failing = self.times(name) % 2 == 1
        if kind == "status" and number.isdigit():
            return _error(int(number), "no luck")
        if kind == "flaky" and number.isdigit():
            return _error(int(number), "once more", {"retry-after": "1"}) if failing else None
        if name == "overloaded":
            return _error(529, "Overloaded")
        if name == "echo-key":
            return _error(401, f"invalid x-api-key: {_key(request)}")
        return None if name in BEHAVIOURS else _error(404, f"model: {name}")


def _key(request: Request) -> str:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key", bearer)


def _complaint(request: Request) -> str | None:
    """What the API would refuse about a request."""
    body, version = request.body, request.headers.get("anthropic-version")
    missing = [field for field in ("model", "max_tokens", "messages") if field not in body]
    if version is None or missing:
        return f"{', '.join(missing) or 'anthropic-version'}: Field required"
    if version == "2026-10-21" and "temperature" in body:
        return "temperature: Extra inputs are not permitted"
    return _complaint_about(body["messages"], body)


def _complaint_about(messages: list[Json], body: Json) -> str | None:
    turns = [_blocks(message) for message in messages]
    if {messages[0]["role"], messages[-1]["role"]} != {"user"}:
        return "messages: must begin and end with the role user"
    for called, turn in zip([[], *turns], turns, strict=False):
        used = [block["id"] for block in called if block["type"] == "tool_use"]
        given = [block["tool_use_id"] for block in turn if block["type"] == "tool_result"]
        if used != given:
            return "messages: `tool_use` ids were found without `tool_result` blocks after them"
        if used and not body.get("tools"):
            return "tools: Field required"
        if used and body["model"] == "tools" and called[0] != THINKING:
            return "messages: an `assistant` message with calls must start with its thinking"
    return None


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    error = {"type": KINDS.get(status, "api_error"), "message": message}
    body = {"type": "error", "error": error, "request_id": "req_1"}
    given = {"request-id": "req_1", **(headers or {})}
    return Reply(status, [json.dumps(body).encode()], headers=given)


def _message(name: str, body: Json) -> Reply:
    content = _content(name, body)
    calls = any(block["type"] == "tool_use" for block in content)
    reason = "tool_use" if calls else REASONS.get(name, "end_turn")
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{name}-2026",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": USAGE,
    }
    if name == "refusal":
        message["stop_details"] = {"type": "refusal", "explanation": "I will not"}
    if body.get("stream"):
        return _streamed(name, message)
    text = json.dumps(message).encode()
    if name == "cut":
        return Reply(200, [text[: len(text) // 2]], ending="cut")
    if name == "error-inside":
        return _error(200, "busy")
    return Reply(200, [text])


def _streamed(name: str, message: Json) -> Reply:
    frames = [_frame(event) for event in _events(message)]
    kind = "text/event-stream; charset=utf-8"
    half = frames[: len(frames) // 2]
    if name == "cut":
        return Reply(200, half, kind, ending="cut")
    if name == "error-inside":
        error = {"type": "overloaded_error", "message": "busy"}
        return Reply(200, [*half, _frame({"type": "error", "error": error})], kind)
    return Reply(200, frames, kind)


def _frame(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _events(message: Json) -> Iterator[Json]:
    usage = {**USAGE, "output_tokens": 1}
    started = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": started}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        opening, deltas = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ends = ("stop_reason", "stop_sequence", "stop_details")
    delta = {key: message[key] for key in ends if key in message}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


def _pieces(block: Json) -> tuple[Json, list[Json]]:
    if block["type"] == "text":
        pieces = [{"type": "text_delta", "text": word} for word in words(block["text"])]
        return {**block, "text": ""}, pieces
    if block["type"] == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": word} for word in words(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*pieces, signature]
    texts = ["", *words(json.dumps(block["input"]))]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
    return {**block, "input": {}}, deltas


def _content(name: str, body: Json) -> list[Json]:
    last = _blocks(body["messages"][-1])
    texts = [block["text"] for block in last if block["type"] == "text"]
    found = [block.get("content", []) for block in last if block["type"] == "tool_result"]
    results = [part["text"] for parts in found for part in parts if part["type"] == "text"]
    if name == "refusal":
        return []
    if name == "json":
        return [_structured(body)]
    if name == "tools" and not found:
        return [THINKING, *(_call(index, tool) for index, tool in enumerate(body["tools"]))]
    if name == "tools":
        return [{"type": "text", "text": f"tool said: {' '.join(results)}"}]
    return [{"type": "text", "text": f"you said: {' '.join(texts)}"}]


def _structured(body: Json) -> Json:
    choice: Any = body.get("tool_choice") or {}
    if choice.get("type") == "tool":
        tool = next(one for one in body["tools"] if one["name"] == choice["name"])
        return _call(0, tool)
    form = (body.get("output_config") or {}).get("format", {})
    return {"type": "text", "text": json.dumps(sample(form.get("schema", {})))}


def _call(index: int, tool: Json) -> Json:
    given = sample(tool["input_schema"])
    return {"type": "tool_use", "id": f"toolu_{index}", "name": tool["name"], "input": given}
