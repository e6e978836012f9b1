"""Images that models make, from a server on loopback to the state and back on the next turn."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, Orchestrator, models
from models.conftest import KEY, PIXEL
from support.chat_server import ChatServer, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA = base64.b64encode(PIXEL).decode()
BLOCK = {"type": "image", "mime_type": "image/png", "base64": DATA}


def part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "index": 0, "image_url": {"url": url}}


class Painter(ChatServer):
    """Paints a pixel, or names an address, as its model says."""

    def answer(self, request: Request) -> Reply:
        name = str(request.body["model"])
        url = f"{self.url}/pixel.png" if name == "address" else f"data:image/png;base64,{DATA}"
        content = None if name == "silent" else "Here it is."
        message = {"role": "assistant", "content": content, "images": [part(url)]}
        if not request.body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return Reply(200, [json.dumps({"model": name, "choices": [choice]}).encode()])
        deltas = [{"content": content}, {"images": message["images"]}, {"images": []}]
        events = [{"choices": [{"index": 0, "delta": one}]} for one in deltas]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        frames = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
        return Reply(200, [*frames, b"data: [DONE]\n\n"], "text/event-stream")


@pytest.fixture
def server() -> Iterator[Painter]:
    with Painter() as server:
        yield server


def painter(server: Painter, name: str = "paint") -> Agent:
    model = models.get(f"openai:{name}", base_url=server.url, api_key=KEY, max_attempts=1)
    return Agent(model, name="painter")


def test_an_image_is_a_part_of_the_message(server: Painter) -> None:
    result = painter(server).run("Draw a pixel.")
    assert result.messages[-1]["content"] == [{"type": "text", "text": "Here it is."}, BLOCK]
    assert result.answer == "Here it is.\n[image: image/png]"
    assert result.outcome == "answered"


def test_an_image_in_a_stream_is_a_part_of_the_message(server: Painter) -> None:
    with painter(server).stream("Draw a pixel.") as stream:
        pieces = [event.data["text"] for event in stream if event.kind == "chunk"]
    assert "".join(pieces) == "Here it is."
    assert stream.result.messages[-1]["content"] == [
        {"type": "text", "text": "Here it is."},
        BLOCK,
    ]


def test_an_image_without_a_text_is_an_answer(server: Painter) -> None:
    result = painter(server, "silent").run("Draw a pixel.")
    assert (result.outcome, result.answer) == ("answered", "[image: image/png]")
    assert result.messages[-1]["content"] == [BLOCK]
    assert server.times("silent") == 1, "it is not asked again"


def test_an_address_is_not_loaded_and_the_answer_says_so(server: Painter) -> None:
    result = painter(server, "address").run("Draw a pixel.")
    assert result.answer == f"Here it is.\n[an image that is not loaded: {server.url}/pixel.png]"
    assert [request.method for request in server.requests] == ["POST"]


def test_the_trace_shows_the_image_without_its_bytes(server: Painter) -> None:
    result = painter(server).run("Draw a pixel.")
    (reply,) = (event for event in result.events if event.kind == "model_reply")
    (shown,) = reply.data["media"]
    assert shown == {"type": "image", "mime_type": "image/png", "bytes": len(PIXEL)}
    assert f"[image: image/png, {len(PIXEL)} bytes]" in str(result.trace)


def test_the_image_goes_back_on_the_next_turn_of_a_stored_thread(
    server: Painter, tmp_path: Path
) -> None:
    team = Orchestrator([painter(server)], checkpointer=f"sqlite:{tmp_path / 'runs.db'}")
    team.run("Draw a pixel.", thread="t")
    result = team.run("Make it red.", thread="t")
    assert [message["role"] for message in result.messages] == ["user", "assistant"] * 2
    first, reply, image, last = server.requests[-1].body["messages"]
    assert (first["content"], last["content"]) == ("Draw a pixel.", "Make it red.")
    assert reply == {
        "role": "assistant",
        "content": "Here it is.\n[part 2 of your reply: see below]",
    }
    assert image == {
        "role": "user",
        "content": [
            {"type": "text", "text": "[part 2 of your reply]"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        ],
    }


def test_code_that_asks_a_model_reads_that_there_is_an_image(server: Painter) -> None:
    model = painter(server).model

    class Asks(Agent):
        async def act(self, state: Any, ctx: Any) -> str:
            return str(await ctx.amodel("Draw a pixel.", model=model))

    assert Asks().run("q").answer == "Here it is.\n[image: image/png]"
