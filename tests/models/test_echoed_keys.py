"""EN-16: a key that a model or a tool echoes is in nothing that a run leaves behind."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator, Result, models
from antiphon.checkpoint import SqliteSaver
from antiphon.errors import AntiphonError, ToolError
from antiphon.models import scripted
from antiphon.systems import ReviewLoop, ReviewLoopResult
from support.chat_server import ChatServer, Reply, Request

KEY = "~sk-proj-Echo0123456789abcdefghij"
TELLING = "Echo0123"


class EchoServer(ChatServer):
    """Calls the first tool with the key as its argument, then says the key; in pieces of 5."""

    def answer(self, request: Request) -> Reply:
        key = request.headers["authorization"].removeprefix("Bearer ")
        body = request.body
        has_result = body["messages"][-1]["role"] == "tool"
        message: dict[str, Any] = {"role": "assistant", "content": f"The key is {key}."}
        if body.get("tools") and not has_result:
            call = {"name": body["tools"][0]["function"]["name"]}
            call["arguments"] = json.dumps({"note": f"it is {key}"})
            calls = [{"id": "call-0", "type": "function", "function": call}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "tool_calls" if message["content"] is None else "stop"
        if not body.get("stream"):
            whole = {"model": "m", "choices": [{"message": message, "finish_reason": reason}]}
            return Reply(200, [json.dumps(whole).encode()])
        return Reply(200, [*map(frame, pieces(message, reason)), b"data: [DONE]\n\n"], EVENTS)


EVENTS = "text/event-stream"


def frame(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def pieces(message: dict[str, Any], reason: str) -> Iterator[dict[str, Any]]:
    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for piece in cut(message["content"] or ""):
        yield event({"content": piece})
    for call in message.get("tool_calls", []):
        opening = {**call["function"], "arguments": ""}
        yield event({"tool_calls": [{**call, "index": 0, "function": opening}]})
        for piece in cut(call["function"]["arguments"]):
            yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield event({}, reason)


def cut(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


def shown(result: Result | ReviewLoopResult) -> str:
    """All that a result shows to people and programs."""
    trace = result.trace
    html = "".join(result._repr_mimebundle_().values()) + "".join(
        trace._repr_mimebundle_().values()
    )
    events = [event.to_dict() for event in result.events]
    texts = [repr(result), result.to_json(), json.dumps(events), html, str(trace), trace.to_json()]
    return " ".join([*texts, repr(result.state)])


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


def echoing(server: ChatServer) -> Any:
    return models.get("openai:m", base_url=server.url, api_key=KEY, max_attempts=1)


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def agent(server: EchoServer, notes: list[str]) -> Agent:
    def remember(note: str) -> dict[str, Any]:
        """Remember a note."""
        notes.append(note)
        return {"noted": [note, f"with {KEY}"]}

    return Agent(name="a", model=echoing(server), tools=[remember])


def test_an_echoed_key_is_in_nothing_that_a_run_leaves(
    agent: Agent, notes: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Prove EN-16 of docs/engine.md."""
    with caplog.at_level(logging.DEBUG), SqliteSaver.open(tmp_path / "runs.db") as saver:
        result = Orchestrator([agent], checkpointer=saver).run("q", thread="t")
        stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert result.answer == "The key is ***."
    assert notes == ["it is ***"]
    assert "with ***" in shown(result)
    assert TELLING not in shown(result)
    assert TELLING.encode() not in pickle.dumps(result)
    assert b"The key is ***" in stored
    assert TELLING.encode() not in stored
    assert TELLING not in caplog.text


def test_a_key_that_is_split_over_pieces_of_a_stream_never_gets_out(agent: Agent) -> None:
    """Prove EN-16 of docs/engine.md."""
    stream = Orchestrator([agent]).stream("q")
    events = list(stream)
    texts = [event.text for event in events if event.kind == "chunk" and event.text]
    assert "".join(texts) == "The key is ***."
    assert len(texts) > 1
    assert TELLING not in json.dumps([event.to_dict() for event in events])
    assert TELLING not in shown(stream.result)


def test_a_key_in_the_error_of_a_tool_is_removed(server: EchoServer) -> None:
    def refuse(note: str) -> str:
        """Refuse a note."""
        raise ValueError(f"{KEY} is refused")

    result = Orchestrator([Agent(name="a", model=echoing(server), tools=[refuse])]).run("q")
    assert "*** is refused" in shown(result)
    assert TELLING not in shown(result)


def test_a_key_that_another_server_echoes_in_an_error_is_removed() -> None:
    with ChatServer() as server:
        echoing(server)  # makes the key known; the other model has its own
        model = models.get("openai:echo-key", base_url=server.url, api_key="x", max_attempts=1)
        longer = models.get(
            "openai:echo-key", base_url=server.url, api_key=KEY + "-and-more", max_attempts=1
        )
        for one in (model, longer):
            with pytest.raises(AntiphonError) as caught:
                Orchestrator([Agent(name="a", model=one)]).run("q")
            assert TELLING not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


def test_functions_as_models_are_cleaned_like_servers(server: EchoServer) -> None:
    echoing(server)

    def whole(request: dict[str, Any]) -> str:
        return f"It is {KEY}!"

    def streamed(request: dict[str, Any]) -> Iterator[str]:
        yield from cut(f"It is {KEY}!")

    async def awaited(request: dict[str, Any]) -> AsyncIterator[str]:
        for piece in cut(f"It is {KEY}!"):
            yield piece

    for function in (whole, streamed, awaited):
        stream = Orchestrator([Agent(name="a", model=function)]).stream("q")
        events = list(stream)
        assert stream.result.answer == "It is ***!"
        assert TELLING not in json.dumps([event.to_dict() for event in events])
        assert TELLING not in shown(stream.result)


def test_calls_of_code_are_cleaned_too(server: EchoServer, tmp_path: Path) -> None:
    def lookup(name: str) -> dict[str, Any]:
        """Look a name up."""
        if name == "none":
            raise KeyError(f"{KEY} has no {name}")
        return {name: (f"is {KEY}", 1)}

    class Caller(Agent):
        """Calls."""

        tools = (lookup,)

        def act(self, state: Any, ctx: AgentContext) -> dict[str, Any]:
            found = ctx.call(lookup, name="it")
            try:
                ctx.call(lookup, name="none")
            except (ToolError, KeyError):
                failed = "failed"
            said = ctx.model("say it", model=echoing(server))
            return {"answer": f"{said} {found} {failed}"}

    with SqliteSaver.open(tmp_path / "runs.db") as saver:
        result = Orchestrator([Caller()], checkpointer=saver).run("q", thread="t")
        stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert result.answer == "The key is ***. {'it': ('is ***', 1)} failed"
    assert TELLING not in shown(result)
    assert TELLING.encode() not in stored


def test_a_ready_system_and_a_recording_hold_no_echoed_key(
    server: EchoServer, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    recorded = models.record(path, echoing(server))
    result = Orchestrator([Agent(name="a", model=recorded)]).run(f"Is it {KEY}?")
    assert result.answer == "The key is ***."
    assert "The key is ***" in path.read_text()
    assert TELLING not in path.read_text()
    review = ReviewLoop(echoing(server)).run("q")
    assert TELLING not in shown(review)
    assert TELLING.encode() not in pickle.dumps(review)


def test_a_scripted_model_says_no_known_key(server: EchoServer) -> None:
    echoing(server)
    result = Orchestrator([Agent(name="a", model=scripted([f"It is {KEY}."]))]).run("q")
    assert result.answer == "It is ***."
    assert KEY not in shown(result)


def test_words_that_stand_for_a_key_are_left_alone(server: EchoServer) -> None:
    models.get("openai:m", base_url=server.url, api_key="not-needed")
    models.get("openai:m", base_url=server.url, api_key="abc-123")
    text = "A key is not-needed for abc-123."
    assert Orchestrator([Agent(name="a", model=scripted([text]))]).run("q").answer == text
    function = Agent(name="a", model=lambda request: text)
    assert Orchestrator([function]).run("q").answer == text
