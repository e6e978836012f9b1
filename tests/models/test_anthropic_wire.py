"""antiphon and Anthropic's official client, asked the same of the same server, say the same.

So that both are checked against the same peer, and neither against itself. What antiphon sends is
read by the types of the official package.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types import Message, MessageParam, RawMessageStreamEvent, ToolParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter

from antiphon import Agent, Image, Orchestrator, models
from antiphon.errors import (
    AntiphonError,
    AuthError,
    ModelOutputError,
    ModelTransportError,
    ValidationError,
)
from antiphon.models import Model
from antiphon.systems import Computation, ReviewLoop
from models.conftest import KEY, PIXEL, plot
from support.anthropic_server import AnthropicServer

ASKED = "hi größe"
SENT: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsNonStreaming)


class City(BaseModel):
    city: str
    inhabitants: int


@pytest.fixture(scope="module")
def server() -> Iterator[AnthropicServer]:
    """Served to the tests of this module."""
    with AnthropicServer() as server:
        yield server


@pytest.fixture
def client(server: AnthropicServer) -> Iterator[Anthropic]:
    """Asks the server, once for each question."""
    with Anthropic(base_url=server.url, api_key=KEY, max_retries=0, timeout=10) as client:
        yield client


def ours(server: AnthropicServer, name: str, **settings: Any) -> Model:
    claude = {"structured_output": "strict", "temperature": False}
    given = {"base_url": server.url, "api_key": KEY, "max_attempts": 1, "timeout": 10}
    return models.get(f"anthropic:{name}", **{**given, "capabilities": claude, **settings})


def alone(given: Model, **options: Any) -> Any:
    return Orchestrator([Agent(name="a", model=given, **options)]).run(ASKED)


def theirs(client: Anthropic, name: str, **options: Any) -> Any:
    asked: list[MessageParam] = [{"role": "user", "content": ASKED}]
    return client.messages.create(model=name, max_tokens=100, messages=asked, **options)


def text(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def population(city: str) -> int:
    """Number of inhabitants."""
    return len(city)


def test_both_clients_read_the_same_answer(server: AnthropicServer, client: Anthropic) -> None:
    reply = theirs(client, "echo")
    first = server.requests[-1]
    result = alone(ours(server, "echo"))
    second = server.requests[-1]
    assert result.answer == text(reply) == f"you said: {ASKED}"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)
    assert (second.method, second.path) == (first.method, first.path)
    # The API takes a key in either header; the official client has moved to the other one.
    assert second.headers["x-api-key"] == KEY
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert second.headers["anthropic-version"] == first.headers["anthropic-version"]
    SENT.validate_python(second.body)


def test_both_clients_stream_the_same_pieces(server: AnthropicServer, client: Anthropic) -> None:
    reader: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    events = [*theirs(client, "echo", stream=True)]
    pieces = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert all(reader.validate_python(event.model_dump()) for event in events)
    stream = Orchestrator([Agent(name="a", model=ours(server, "echo"))]).stream(ASKED)
    assert [event.text for event in stream if event.text] == pieces
    assert stream.result.answer == "".join(pieces)
    assert (stream.result.usage.input_tokens, stream.result.usage.output_tokens) == (11, 7)


@pytest.mark.parametrize("watched", [False, True])
def test_tools_are_called_and_thinking_goes_back_with_their_results(
    server: AnthropicServer, client: Anthropic, watched: bool
) -> None:
    tool: ToolParam = {
        "name": "population",
        "description": "Number of inhabitants.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    reply = theirs(client, "tools", tools=[tool])
    assert [block.type for block in reply.content] == ["thinking", "tool_use"]
    team = Orchestrator([Agent(name="a", model=ours(server, "tools"), tools=[population])])
    if watched:
        stream = team.stream(ASKED)
        assert [event.text for event in stream if event.text] == ["tool", " said:", " 4"]
        result = stream.result
    else:
        result = team.run(ASKED)
    assert result.answer == "tool said: 4"
    sent = server.requests[-1].body
    SENT.validate_python({key: sent[key] for key in sent if key != "stream"})
    assert sent["tools"][0]["name"] == "population"
    # The server refuses a conversation whose thinking is missing or changed.
    back = sent["messages"][1]["content"]
    assert [block["type"] for block in back] == ["thinking", "tool_use"]
    assert "provider_content" not in str(result.messages)


def test_both_clients_send_the_same_image(server: AnthropicServer, client: Anthropic) -> None:
    source: Any = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(PIXEL).decode(),
    }
    parts: Any = [{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]
    asked: list[MessageParam] = [{"role": "user", "content": parts}]
    client.messages.create(model="echo", max_tokens=100, messages=asked)
    first = server.requests[-1].body
    result = Agent(name="a", model=ours(server, "echo")).run(["What is this?", Image(PIXEL)])
    assert result.answer == "you said: What is this?"
    assert server.requests[-1].body["messages"] == first["messages"]


def test_an_image_of_a_tool_is_a_part_of_its_result(server: AnthropicServer) -> None:
    assert alone(ours(server, "tools"), tools=[plot]).answer == "tool said: a plot of text"
    sent = server.requests[-1].body
    SENT.validate_python(sent)
    [answer] = sent["messages"][-1]["content"]
    assert answer["type"] == "tool_result"
    assert [part["type"] for part in answer["content"]] == ["text", "image"]


def test_the_last_turn_without_calls_still_defines_the_tools(server: AnthropicServer) -> None:
    result = alone(ours(server, "tools"), tools=[population], max_tool_calls=1)
    sent = server.requests[-1].body
    assert result.answer == "tool said: 4"
    assert (sent["tool_choice"], len(sent["tools"])) == ({"type": "none"}, 1)


@pytest.mark.parametrize("structured", ["strict", "schema", "tool"])
def test_a_structured_reply_fits_its_schema(
    server: AnthropicServer, client: Anthropic, structured: str
) -> None:
    parsed = client.messages.parse(
        model="json",
        max_tokens=100,
        messages=[{"role": "user", "content": ASKED}],
        output_format=City,
    )
    first = server.requests[-1].body["output_config"]["format"]
    model = ours(server, "json", capabilities={"structured_output": structured})
    assert (
        alone(model, output=City).answer == parsed.parsed_output == City(city="text", inhabitants=1)
    )
    sent = server.requests[-1].body
    SENT.validate_python(sent)
    if structured == "strict":
        second = sent["output_config"]["format"]
        assert second["type"] == first["type"]
        assert second["schema"]["additionalProperties"] is False
        assert second["schema"]["required"] == first["schema"]["required"]


FAILURES = [
    ("status-400", ValidationError, "model_request_refused", anthropic.BadRequestError),
    ("status-401", AuthError, "model_key_refused", anthropic.AuthenticationError),
    ("status-403", AuthError, "model_key_refused", anthropic.PermissionDeniedError),
    ("status-429", ModelTransportError, "model_rate_limited", anthropic.RateLimitError),
    ("status-500", ModelTransportError, "model_server_error", anthropic.InternalServerError),
    ("overloaded", ModelTransportError, "model_server_error", anthropic.InternalServerError),
    ("echo-key", AuthError, "model_key_refused", anthropic.AuthenticationError),
    ("no-such-model", ValidationError, "model_not_found", anthropic.NotFoundError),
    ("cut", ModelTransportError, "model_reply_cut", anthropic.APIConnectionError),
]


@pytest.mark.parametrize(("name", "error", "code", "other"), FAILURES)
def test_each_failure_has_its_own_error_that_names_model_and_address_and_no_key(
    server: AnthropicServer,
    client: Anthropic,
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
    assert caught.value.message.startswith(f"anthropic:{name}: ")
    assert f"{server.url}/v1/messages" in caught.value.message
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.details}"


def test_a_refusal_is_reported(server: AnthropicServer) -> None:
    with pytest.raises(ModelOutputError, match="I will not") as caught:
        alone(ours(server, "refusal"))
    assert caught.value.code == "model_refused"


def test_an_error_inside_a_stream_is_an_error(server: AnthropicServer, client: Anthropic) -> None:
    with pytest.raises(anthropic.APIError, match="busy"):
        list(theirs(client, "error-inside", stream=True))
    stream = Orchestrator([Agent(name="a", model=ours(server, "error-inside"))]).stream(ASKED)
    with pytest.raises(ModelTransportError, match="busy"):
        list(stream)


def test_a_wish_to_wait_is_heard_and_the_next_time_succeeds(server: AnthropicServer) -> None:
    before = len(server.requests)
    assert alone(ours(server, "flaky-429", max_attempts=2)).answer == f"you said: {ASKED}"
    assert len(server.requests) == before + 2


def test_a_cut_reply_is_visible(server: AnthropicServer) -> None:
    events = [*Orchestrator([Agent(name="a", model=ours(server, "length"))]).stream(ASKED)]
    reply = next(event for event in events if event.kind == "model_reply")
    assert (reply.data["finish"], reply.level) == ("length", "warning")


def test_claude_refuses_a_temperature_before_anything_is_sent(server: AnthropicServer) -> None:
    before = len(server.requests)
    model = models.get("anthropic:claude-sonnet-5-5", base_url=server.url, api_key=KEY)
    with pytest.raises(ValidationError, match="accept `temperature`: 0") as caught:
        alone(model, temperature=0)
    assert caught.value.code == "model_parameter_unsupported"
    assert len(server.requests) == before
    old = {"anthropic-version": "2023-06-01"}
    allowed = ours(server, "echo", headers=old, capabilities={"temperature": True})
    assert alone(allowed, temperature=0).answer == f"you said: {ASKED}"
    assert server.requests[-1].body["temperature"] == 0


@pytest.mark.parametrize("system", [ReviewLoop, Computation])
def test_ready_systems_send_only_what_the_default_model_takes(
    server: AnthropicServer, monkeypatch: pytest.MonkeyPatch, system: Any
) -> None:
    for variable in ("ANTIPHON_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    result = system().run("How many?")
    # The server does not know the model: it comes so far only with a request that it accepts.
    assert isinstance(result.error, ValidationError)
    assert result.error.code == "model_not_found"
    sent = server.requests[-1].body
    assert sent["model"] == "claude-sonnet-5-5"
    SENT.validate_python(sent)
