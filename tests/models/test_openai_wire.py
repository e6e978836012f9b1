"""The official client understands the server that our own client is tested against.

So that both are checked against the same peer, and neither against itself.
"""

from __future__ import annotations

import json

import openai
import pytest
from openai import OpenAI
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionUserMessageParam,
)
from pydantic import BaseModel

from models.conftest import KEY
from support.chat_server import BEHAVIOURS, ChatServer


class Answer(BaseModel):
    """What the model is to say."""

    city: str
    inhabitants: int


def user(text: str) -> list[ChatCompletionUserMessageParam]:
    return [{"role": "user", "content": text}]


def ask(client: OpenAI, model: str) -> ChatCompletion:
    return client.chat.completions.create(model=model, messages=user("hi größe"))


def stream(client: OpenAI, model: str) -> str:
    events = client.chat.completions.create(model=model, messages=user("hi größe"), stream=True)
    return "".join(event.choices[0].delta.content or "" for event in events if event.choices)


def tool() -> ChatCompletionFunctionToolParam:
    city: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"type": "function", "function": {"name": "population", "parameters": city}}


def test_a_whole_reply_is_read(client: OpenAI, server: ChatServer) -> None:
    reply = ask(client, "echo")
    assert reply.choices[0].message.content == "you said: hi größe"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)
    assert reply.model == "echo-2026"
    request = server.requests[-1]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == [{"role": "user", "content": "hi größe"}]


def test_a_stream_is_read_with_its_token_counts(client: OpenAI) -> None:
    events = list(
        client.chat.completions.create(
            model="echo",
            messages=user("hi"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    texts = [event.choices[0].delta.content for event in events if event.choices]
    assert [text for text in texts if text] == ["you", " said:", " hi"]
    usage = events[-1].usage
    assert usage is not None
    assert usage.total_tokens == 18


def test_a_stream_counts_tokens_only_when_asked(client: OpenAI) -> None:
    events = list(client.chat.completions.create(model="echo", messages=user("hi"), stream=True))
    assert [event.usage for event in events if event.usage] == []


def test_tools_are_called_and_their_answers_are_heard(client: OpenAI) -> None:
    reply = client.chat.completions.create(model="tools", messages=user("?"), tools=[tool()])
    message = reply.choices[0].message
    assert reply.choices[0].finish_reason == "tool_calls"
    assert message.tool_calls is not None
    [call] = message.tool_calls
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert (call.function.name, call.function.arguments) == ("population", '{"city": "text"}')
    again = client.chat.completions.create(
        model="tools",
        messages=[
            *user("?"),
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.function.name,
                            "arguments": call.function.arguments,
                        },
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "522250"},
        ],
    )
    assert again.choices[0].message.content == "tool said: 522250"


def test_tool_calls_in_pieces_are_put_together(client: OpenAI) -> None:
    with client.chat.completions.stream(
        model="tools", messages=user("?"), tools=[{**tool(), "type": "function"}]
    ) as events:
        message = events.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    assert json.loads(message.tool_calls[0].function.arguments) == {"city": "text"}


def test_a_structured_reply_fits_its_schema(client: OpenAI, server: ChatServer) -> None:
    reply = client.chat.completions.parse(model="json", messages=user("?"), response_format=Answer)
    assert reply.choices[0].message.parsed == Answer(city="text", inhabitants=1)
    form = server.requests[-1].body["response_format"]
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("model", "field", "expected"),
    [
        ("length", "finish_reason", "length"),
        ("filter", "finish_reason", "content_filter"),
    ],
)
def test_reasons_to_stop_are_passed_on(
    client: OpenAI, model: str, field: str, expected: str
) -> None:
    assert getattr(ask(client, model).choices[0], field) == expected


def test_a_refusal_is_no_content(client: OpenAI) -> None:
    message = ask(client, "refusal").choices[0].message
    assert (message.content, message.refusal) == (None, "I will not")


def test_a_huge_reply_comes_whole(client: OpenAI) -> None:
    assert len(ask(client, "huge").choices[0].message.content or "") == 4 << 20


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("status-400", openai.BadRequestError),
        ("status-401", openai.AuthenticationError),
        ("status-403", openai.PermissionDeniedError),
        ("status-404", openai.NotFoundError),
        ("status-422", openai.UnprocessableEntityError),
        ("status-429", openai.RateLimitError),
        ("status-500", openai.InternalServerError),
        ("status-529", openai.InternalServerError),
        ("quota", openai.RateLimitError),
        ("echo-key", openai.AuthenticationError),
        ("no-such-model", openai.NotFoundError),
    ],
)
def test_each_failure_has_its_own_error_class(
    client: OpenAI, model: str, error: type[openai.APIStatusError]
) -> None:
    with pytest.raises(error) as caught:
        ask(client, model)
    assert caught.value.request_id == "req-1"


def test_a_wish_to_wait_is_heard_and_the_next_time_succeeds(server: ChatServer) -> None:
    before = len(server.requests)
    with OpenAI(base_url=server.url, api_key=KEY, max_retries=1) as client:
        assert ask(client, "flaky-429").choices[0].message.content == "you said: hi größe"
    assert len(server.requests) == before + 2


def test_what_breaks_a_connection_is_a_connection_error(client: OpenAI) -> None:
    with pytest.raises(openai.APIConnectionError):
        ask(client, "cut")
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=0.2), "stall")


def test_an_error_inside_a_stream_is_an_error(client: OpenAI) -> None:
    with pytest.raises(openai.APIError, match="busy"):
        stream(client, "error-inside")


def test_a_malformed_frame_is_an_error(client: OpenAI) -> None:
    with pytest.raises(json.JSONDecodeError):
        stream(client, "malformed")


def test_a_redirect_is_followed_by_this_client(client: OpenAI, server: ChatServer) -> None:
    before = len(server.requests)
    assert ask(client, "redirect").choices[0].message.content == "you said: hi größe"
    paths = [request.path for request in server.requests[before:]]
    assert paths == ["/v1/chat/completions", "/elsewhere/chat/completions"]


def test_every_behaviour_is_listed(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(BEHAVIOURS)
