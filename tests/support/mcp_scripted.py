"""A server over standard input and output that misbehaves as its arguments say; no package needed.

Usage: scripted.py [--era 2025|2026] [--log FILE] [--pages] [--child FILE] …
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

options = argparse.ArgumentParser()
options.add_argument("--era", default="2025")
options.add_argument("--log", default=os.devnull)
options.add_argument("--child", default="")
options.add_argument("--die-once", default="")
options.add_argument("--deaf", action="store_true")
options.add_argument("--tools", default="")
chosen = options.parse_args()
log = Path(chosen.log).open("a", buffering=1)  # noqa: SIM115 - until the process ends
log.write(f"started {os.getpid()}\n")

if chosen.child:
    # It survives its parent, as the children of launchers do.
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    Path(chosen.child).write_text(str(child.pid), encoding="utf-8")

Message: TypeAlias = dict[str, Any]
TEXT: Message = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: list[Message] = [
    {
        "name": "echo",
        "description": "Says it again.",
        "inputSchema": TEXT,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "write", "description": "Changes something.", "inputSchema": TEXT},
    {"name": "hang", "inputSchema": TEXT},
    {"name": "stall", "inputSchema": TEXT},
    {"name": "die", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "die write", "inputSchema": TEXT},
    {"name": "fail", "inputSchema": TEXT},
    {"name": "refuse", "inputSchema": TEXT},
    {"name": "media", "inputSchema": TEXT},
    {"name": "structured", "inputSchema": TEXT},
    {"name": "smuggle", "inputSchema": TEXT},
    {"name": "progress", "inputSchema": TEXT},
    {"name": "ask", "inputSchema": TEXT},
    {"name": "sample", "inputSchema": TEXT},
    {"name": "roots", "inputSchema": TEXT},
    {"name": "change", "inputSchema": TEXT},
    {"name": "env", "inputSchema": TEXT},
]
if chosen.tools:
    TOOLS = json.loads(chosen.tools)
modern = chosen.era == "2026"
extra: list[Message] = []


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> Message:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: Message = json.loads(line)
    log.write(line if line.endswith("\n") else line + "\n")
    return message


def reply(request: Message, **result: Any) -> None:
    if modern:
        result = {"resultType": "complete", **result}
    send({"id": request["id"], "result": result})


def fail(request: Message, code: int, message: str, **data: Any) -> None:
    send({"id": request["id"], "error": {"code": code, "message": message, **data}})


def text(request: Message, value: str, **more: Any) -> None:
    reply(request, content=[{"type": "text", "text": value}], **more)


def ask_client(method: str, params: Message) -> Any:
    """Asks the client, in the way of the older revisions."""
    send({"id": "q1", "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == "q1":
            return message.get("result", message.get("error"))


QUESTION: Message = {
    "mode": "form",
    "message": "Really?",
    "requestedSchema": {
        "type": "object",
        "properties": {"sure": {"type": "boolean"}},
        "required": ["sure"],
    },
}
ASKED = [{"role": "user", "content": {"type": "text", "text": "Six times seven?"}}]


def die(request: Message, given: str) -> None:
    mark = Path(chosen.die_once) if chosen.die_once else None
    if mark and mark.exists():
        text(request, "alive")
        return
    if mark:
        mark.touch()
    sys.stderr.write("out of cheese\n")
    sys.stderr.flush()
    os._exit(3)


def media(request: Message, given: str) -> None:
    note = {"uri": "note:1", "mimeType": "text/plain", "text": "hello"}
    blob = {"uri": "blob:1", "mimeType": "application/pdf", "blob": "JVBERg=="}
    parts = [
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "resource", "resource": note},
        {"type": "resource", "resource": blob},
        {"type": "resource_link", "uri": "file:///etc/passwd", "name": "secrets"},
    ]
    reply(request, content=parts)


def smuggle(request: Message, given: str) -> None:
    part = {"type": "image", "url": "http://evil.example/pixel"}
    text(request, "", structuredContent={"content": [part]})


def progress(request: Message, given: str) -> None:
    token = request["params"]["_meta"]["progressToken"]
    for done in (1, 2):
        params = {"progressToken": token, "progress": done, "total": 2, "message": f"step {done}"}
        send({"method": "notifications/progress", "params": params})
    text(request, "done")


def ask(request: Message, given: str) -> None:
    if not modern:
        text(request, json.dumps(ask_client("elicitation/create", QUESTION)))
        return
    answers = request["params"].get("inputResponses")
    if answers is not None:
        text(request, json.dumps([answers["q"], request["params"]["requestState"]]))
        return
    asked = {"q": {"method": "elicitation/create", "params": QUESTION}}
    kind = {"resultType": "input_required", "inputRequests": asked, "requestState": "s1"}
    send({"id": request["id"], "result": kind})


def sample(request: Message, given: str) -> None:
    params = {"messages": ASKED, "maxTokens": 9}
    text(request, json.dumps(ask_client("sampling/createMessage", params)))


def change(request: Message, given: str) -> None:
    extra.append({"name": "later", "inputSchema": TEXT})
    send({"method": "notifications/tools/list_changed"})
    text(request, "changed")


CALLS: dict[str, Callable[[Message, str], object]] = {
    "echo": text,
    "write": text,
    "hang": lambda request, given: None,
    "stall": lambda request, given: time.sleep(600),
    "die": die,
    "die write": die,
    "fail": lambda request, given: text(request, "no such city", isError=True),
    "media": media,
    "structured": lambda request, given: text(
        request, '{"people": 520774}', structuredContent={"people": 520774}
    ),
    "smuggle": smuggle,
    "progress": progress,
    "ask": ask,
    "sample": sample,
    "roots": lambda request, given: text(request, json.dumps(ask_client("roots/list", {}))),
    "change": change,
    "env": lambda request, given: text(request, json.dumps(dict(os.environ))),
}


def call(request: Message) -> None:
    given = request["params"].get("arguments", {}).get("text", "")
    found = CALLS.get(request["params"]["name"])
    if found is None:
        fail(request, -32602, "unknown tool")
    else:
        found(request, given)


while True:
    message = receive()
    if chosen.deaf:
        time.sleep(600)
    match message.get("method"):
        case "server/discover" if modern:
            reply(
                message,
                supportedVersions=["2026-07-28"],
                capabilities={"tools": {}},
                serverInfo={"name": "scripted", "version": "1"},
                ttlMs=0,
                cacheScope="private",
            )
        case "initialize":
            version = message["params"]["protocolVersion"]
            reply(
                message,
                protocolVersion=version,
                capabilities={"tools": {"listChanged": True}},
                serverInfo={"name": "scripted", "version": "1"},
            )
        case "tools/list":
            start = int(message.get("params", {}).get("cursor") or 0)
            page = (TOOLS + extra)[start : start + 5]
            more = {"nextCursor": str(start + 5)} if start + 5 < len(TOOLS + extra) else {}
            reply(
                message,
                tools=page,
                **more,
                **({"ttlMs": 0, "cacheScope": "private"} if modern else {}),
            )
        case "tools/call":
            call(message)
        case "ping":
            reply(message)
        case method if "id" in message and method:
            fail(message, -32601, "method not found")
