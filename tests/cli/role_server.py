"""A server on loopback that speaks the OpenAI chat wire and answers as the roles of a review loop.

Which role a request is for follows from the name of the schema it wants.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

APPROVE = {"decision": "approve", "feedback": ""}
REPLIES: dict[str, Any] = {
    "plan": {"research_steps": ["look it up"], "expert_steps": ["say it"]},
    "finding": {"result": "Lima, says the atlas"},
    "verdict": APPROVE,
    "answer": {"reasoning_trace": "the atlas says so", "expert_answer": "Lima"},
    "final": {"final_reasoning_trace": "the atlas says so", "final_answer": "Lima"},
}


class RoleServer:
    """Answers each role with the same reply, every time.

    Args:
        status: answers every request with this status instead.
        held: the role whose requests alone wait as long as `hold` is clear. Default: all.
        **replies: by the schema's name, in place of those in `REPLIES`.

    Attributes:
        url: the base URL.
        bodies: the requests so far.
        asked: set once there was a request.
        reached: set once there was one of the role `held`.
        hold: as long as it is clear, requests wait.
    """

    def __init__(self, status: int = 200, held: str | None = None, **replies: Any) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.asked = threading.Event()
        self.reached = threading.Event()
        self.hold = threading.Event()
        self.hold.set()
        handler = type(
            "Handler",
            (_Handler,),
            {
                "server_of_roles": self,
                "status": status,
                "held": held,
                "replies": REPLIES | replies,
            },
        )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.hold.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _role(body: dict[str, Any]) -> str:
    response_format = body.get("response_format")
    return str(response_format["json_schema"]["name"]) if response_format else "answer"


class _Handler(BaseHTTPRequestHandler):
    server_of_roles: RoleServer
    status: int
    held: str | None
    replies: dict[str, Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server_of_roles.bodies.append(body)
        self.server_of_roles.asked.set()
        if self.held is None or _role(body) == self.held:
            self.server_of_roles.reached.set()
            self.server_of_roles.hold.wait(60)
        if self.status != 200:
            self._send(json.dumps({"error": {"message": "no"}}).encode(), "application/json")
            return
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        key = "delta" if body.get("stream") else "message"
        choice = {"index": 0, key: self._message(body), "finish_reason": "stop"}
        reply = {"id": "1", "model": "roles", "choices": [choice], "usage": usage}
        if body.get("stream"):
            self._send(
                f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
            )
        else:
            self._send(json.dumps(reply).encode(), "application/json")

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        # A role with tools gets no schema: the expert, and the researcher if there are documents.
        role = _role(body)
        tools = [tool["function"]["name"] for tool in body.get("tools", ())]
        if "search_documents" in tools:
            results = [one["content"] for one in body["messages"] if one["role"] == "tool"]
            if not results:
                query = json.dumps({"query": "capital of Peru"})
                function = {"name": "search_documents", "arguments": query}
                call = {"index": 0, "id": "c", "type": "function", "function": function}
                return {"role": "assistant", "content": None, "tool_calls": [call]}
            role = "finding"
        return {"role": "assistant", "content": json.dumps(self.replies[role])}

    def _send(self, content: bytes, kind: str) -> None:
        try:
            self.send_response(self.status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # the client was interrupted on purpose

    def log_message(self, *args: object) -> None:
        """Stays quiet."""
