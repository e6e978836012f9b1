"""antiphon and the official client, asked the same of the same server, say the same."""

from __future__ import annotations

import asyncio
import base64
import socket
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter

from antiphon import Agent, Budget, Image, Orchestrator, models
from antiphon.errors import (
    AntiphonError,
    AuthError,
    BudgetError,
    ModelOutputError,
    ModelTransportError,
    RunTimeout,
    ValidationError,
)
from antiphon.models import Model
from models.conftest import KEY, PIXEL, plot
from support.chat_server import ChatServer

ASKED = "hi größe"


class City(BaseModel):
    city: str
    inhabitants: int


def ours(server: ChatServer, name: str, **settings: Any) -> Model:
    given = {"base_url": server.url, "api_key": KEY, "max_attempts": 1, "timeout": 10, **settings}
    return models.get(f"openai:{name}", **given)


def alone(given: Model, **options: Any) -> Any:
    return Orchestrator([Agent(name="a", model=given, **options)]).run(ASKED)


def theirs(client: OpenAI, name: str) -> str:
    reply = client.chat.completions.create(
        model=name, messages=[{"role": "user", "content": ASKED}]
    )
    return reply.choices[0].message.content or ""


@pytest.mark.parametrize("name", ["echo", "huge", "parts"])
def test_antiphon_and_openai_clients_read_the_same_answer(
    server: ChatServer, client: OpenAI, name: str
) -> None:
    expected = "in parts" if name == "parts" else theirs(client, name)
    assert alone(ours(server, name)).answer == expected


def test_antiphon_and_openai_clients_send_the_same_request(
    server: ChatServer, client: OpenAI
) -> None:
    theirs(client, "echo")
    first = server.requests[-1]
    result = alone(ours(server, "echo"))
    second = server.requests[-1]
    assert (second.method, second.path) == (first.method, first.path)
    assert second.headers["authorization"] == first.headers["authorization"]
    assert second.body["messages"] == first.body["messages"]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)


def test_antiphon_and_openai_clients_stream_the_same_pieces(
    server: ChatServer, client: OpenAI
) -> None:
    asked: Any = [{"role": "user", "content": ASKED}]
    events = client.chat.completions.create(model="echo", messages=asked, stream=True)
    pieces = [event.choices[0].delta.content for event in events if event.choices]
    stream = Orchestrator([Agent(name="a", model=ours(server, "echo"))]).stream(ASKED)
    assert [event.text for event in stream if event.text] == [piece for piece in pieces if piece]
    assert stream.result.answer == "".join(piece or "" for piece in pieces)


def test_tools_are_called_and_their_answers_are_heard(server: ChatServer) -> None:
    async def population(city: str) -> int:
        """Number of inhabitants."""
        return len(city)

    assert alone(ours(server, "tools"), tools=[population]).answer == "tool said: 4"
    offered = server.requests[-2].body["tools"][0]["function"]
    assert (offered["name"], offered["description"]) == ("population", "Number of inhabitants.")


def test_antiphon_and_openai_clients_send_the_same_image(
    server: ChatServer, client: OpenAI
) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    parts: Any = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    client.chat.completions.create(model="echo", messages=[{"role": "user", "content": parts}])
    first = server.requests[-1].body
    result = Agent(name="a", model=ours(server, "echo")).run(["What is this?", Image(PIXEL)])
    assert result.answer == "you said: What is this?"
    assert server.requests[-1].body["messages"] == first["messages"]


def test_an_image_of_a_tool_follows_its_result_as_the_official_types_have_it(
    server: ChatServer,
) -> None:
    answer = alone(ours(server, "tools"), tools=[plot]).answer
    assert answer.startswith("tool said: a plot of text\n[part 2 of the result of plot")
    sent = server.requests[-1].body
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(sent)
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]
    picture = sent["messages"][-1]
    assert "image_url" in [part["type"] for part in picture["content"]]


def test_a_structured_reply_fits_its_schema(server: ChatServer, client: OpenAI) -> None:
    asked: Any = [{"role": "user", "content": ASKED}]
    reply = client.chat.completions.parse(model="json", messages=asked, response_format=City)
    first = server.requests[-1].body["response_format"]["json_schema"]
    assert alone(ours(server, "json"), output=City).answer == reply.choices[0].message.parsed
    second = server.requests[-1].body["response_format"]["json_schema"]
    assert set(second["schema"]["required"]) == set(first["schema"]["required"])


FAILURES = [
    ("status-400", ValidationError, "model_request_refused", openai.BadRequestError),
    ("status-401", AuthError, "model_key_refused", openai.AuthenticationError),
    ("status-403", AuthError, "model_key_refused", openai.PermissionDeniedError),
    ("status-404", ValidationError, "model_not_found", openai.NotFoundError),
    ("status-429", ModelTransportError, "model_rate_limited", openai.RateLimitError),
    ("status-500", ModelTransportError, "model_server_error", openai.InternalServerError),
    ("quota", BudgetError, "model_quota_exhausted", openai.RateLimitError),
    ("echo-key", AuthError, "model_key_refused", openai.AuthenticationError),
    ("no-such-model", ValidationError, "model_not_found", openai.NotFoundError),
]


@pytest.mark.parametrize(("name", "error", "code", "other"), FAILURES)
def test_each_failure_has_its_own_error_and_never_shows_the_key(
    server: ChatServer,
    client: OpenAI,
    name: str,
    error: type[AntiphonError],
    code: str,
    other: type[Exception],
) -> None:
    with pytest.raises(other):
        theirs(client, name)
    with pytest.raises(error) as caught:
        alone(ours(server, name))
    assert caught.value.code == code
    assert any("raised by the node `a`" in note for note in caught.value.__notes__)
    text = f"{caught.value} {caught.value!r} {caught.value.details}"
    assert KEY not in text


@pytest.mark.parametrize(
    ("name", "error", "code"),
    [
        ("refusal", ModelOutputError, "model_refused"),
        ("filter", ModelOutputError, "model_refused"),
        ("malformed", AntiphonError, "model_reply_malformed"),
        ("html", AntiphonError, "model_reply_malformed"),
        ("cut", ModelTransportError, None),
        ("error-inside", ModelTransportError, None),
        ("redirect", AntiphonError, "model_redirected"),
    ],
)
def test_odd_replies_are_typed_errors(
    server: ChatServer, name: str, error: type[AntiphonError], code: str | None
) -> None:
    with pytest.raises(error) as caught:
        alone(ours(server, name))
    assert code is None or caught.value.code == code


def test_a_reply_beyond_the_limit_of_bytes_is_refused(server: ChatServer) -> None:
    with pytest.raises(ModelOutputError, match="limit in bytes: 40") as caught:
        alone(ours(server, "echo", max_reply_bytes=40))
    assert caught.value.code == "model_reply_too_large"
    assert alone(ours(server, "echo", max_reply_bytes=4_000)).answer == f"you said: {ASKED}"


def test_a_stalled_reply_ends_at_its_idle_time(server: ChatServer) -> None:
    with pytest.raises((RunTimeout, ModelTransportError)) as caught:
        alone(ours(server, "stall", idle_timeout=0.2))
    assert caught.value.code == "model_timeout"


def test_an_unreachable_server_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ModelTransportError, match=r"127\.0\.0\.1") as caught:
            alone(models.get("openai:x", base_url=url, api_key=KEY, max_attempts=1))
    assert caught.value.code == "model_unreachable"


def test_a_wish_to_wait_is_heard_and_the_next_time_succeeds(server: ChatServer) -> None:
    before = len(server.requests)
    result = alone(ours(server, "flaky-429", max_attempts=2))
    assert result.answer == f"you said: {ASKED}"
    assert len(server.requests) == before + 2


def test_many_agents_ask_at_the_same_time(server: ChatServer) -> None:
    team = Orchestrator([Agent(name="a", model=ours(server, "echo"))], budget=Budget(model_calls=1))
    questions = [f"q{number}" for number in range(20)]
    results = asyncio.run(team.abatch(questions))
    assert [result.answer for result in results] == [f"you said: q{n}" for n in range(20)]
    assert [result.answer for result in team.batch(questions[:5])] == [
        f"you said: q{n}" for n in range(5)
    ]


def test_a_blank_question_sends_nothing(server: ChatServer) -> None:
    before = len(server.requests)
    with pytest.raises(ValidationError):
        Orchestrator([Agent(name="a", model=ours(server, "echo"))]).run(" ")
    assert len(server.requests) == before


@pytest.mark.parametrize("watched", [False, True])
def test_the_second_server_answers_when_the_first_does_not(
    server: ChatServer, watched: bool
) -> None:
    with ChatServer() as second:
        either = models.get([ours(server, "status-503"), ours(second, "echo")])
        team = Orchestrator([Agent(name="a", model=either)])
        if watched:
            stream = team.stream(ASKED)
            text = "".join(event.text for event in stream if event.kind == "chunk")
            assert text == f"you said: {ASKED}"
            result = stream.result
        else:
            result = team.run(ASKED)
        assert result.answer == f"you said: {ASKED}"
        assert result.usage.model_calls == 1
        assert [request.body["model"] for request in second.requests] == ["echo"]
    assert server.requests[-1].body["model"] == "status-503"


def test_a_refused_key_is_not_taken_elsewhere(server: ChatServer) -> None:
    with ChatServer() as second:
        with pytest.raises(AuthError):
            alone(models.get([ours(server, "status-401"), ours(second, "echo")]))
        assert second.requests == []


def test_when_nobody_answers_the_error_says_who_was_tried(server: ChatServer) -> None:
    with pytest.raises(ModelTransportError) as caught:
        alone(models.get([ours(server, "status-503"), ours(server, "status-500")]))
    tried = [one["model"] for one in caught.value.details["tried"]]
    assert tried == ["openai:status-503", "openai:status-500"]
