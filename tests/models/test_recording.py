"""Recordings of real calls, and what repeats them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, models
from antiphon.errors import AuthError, ValidationError
from antiphon.models import scripted
from models.conftest import KEY
from support.chat_server import ChatServer


def population(city: str) -> int:
    """Number of inhabitants."""
    return len(city)


def ask(model: Any, question: str = "q", **options: Any) -> Any:
    return Orchestrator([Agent(name="a", model=model, **options)]).run(question)


def test_a_run_with_tools_is_repeated_without_the_server(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with ChatServer() as server:
        given = {"base_url": server.url, "api_key": KEY, "max_attempts": 1}
        recording = models.record(path, "openai:tools", **given)
        assert recording.name == "openai:tools"
        first = ask(recording, tools=[population])
    again = ask(models.replay(path), tools=[population])
    assert again.answer == first.answer == "tool said: 4"
    assert again.usage == first.usage
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"recording": 1, "model": "openai:tools"}
    assert [sorted(line) for line in lines[1:]] == [["reply", "request"]] * 2


def test_a_stream_is_repeated_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    ask(models.record(path, scripted(["one two three"])))
    stream = Orchestrator([Agent(name="a", model=models.replay(path))]).stream("q")
    assert [event.text for event in stream if event.text] == ["one ", "two ", "three"]


def test_a_recorded_error_is_raised_again_and_no_key_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with ChatServer() as server:
        model = models.get("openai:echo-key", base_url=server.url, api_key=KEY)
        with pytest.raises(AuthError) as first:
            ask(models.record(str(path), model), f"is {KEY} my key?")
    assert KEY not in path.read_text()
    with pytest.raises(AuthError) as again:
        ask(models.replay(str(path)), "is *** my key?")
    assert again.value.message == first.value.message


def test_another_question_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    ask(models.record(path, scripted(["x"])), "Why?")
    with pytest.raises(ValidationError, match=r'content` is "How\?"') as caught:
        ask(models.replay(path), "How?")
    assert caught.value.code == "recording_mismatch"


def test_what_cannot_be_recorded_or_repeated_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with pytest.raises(ValidationError, match=r"calls\.jsonl") as caught:
        models.replay(path)
    assert caught.value.code == "recording_invalid"
    path.write_text("x")
    with pytest.raises(ValidationError, match="line 1") as caught:
        models.replay(path)
    assert caught.value.code == "recording_invalid"
    with pytest.raises(ValidationError, match="exists already") as caught:
        models.record(path, scripted(["x"]))
    assert caught.value.code == "recording_invalid"
    with pytest.raises(ValidationError, match="timeout") as caught:
        models.record(tmp_path / "new", scripted(["x"]), timeout=3)
    assert caught.value.code == "model_setting_invalid"
    assert not (tmp_path / "new").exists()
