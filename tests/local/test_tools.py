"""Structured replies and tool calls of the small Qwen model, through our chat template."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.local import LocalServer, serve
from local.client import chat, stream
from local.conftest import real_weights

pytestmark = pytest.mark.local_model

MODEL = "qwen2.5-coder:0.5b"
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def tool(name: str, description: str, **arguments: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": arguments, "required": list(arguments)}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


TOOLS = [
    tool("get_weather", "Weather of a city today", city=TEXT),
    tool("multiply", "Product of two numbers", a=NUMBER, b=NUMBER),
    tool("search_web", "Search the web", query=TEXT),
]
QUESTIONS = [
    "What is the weather in Lyon?",
    "How much is 23 times 19? Use a tool.",
    "Find recent news about fusion energy on the web.",
    "Is it raining in Oslo right now?",
    "Multiply 4.5 by 12.",
]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    real_weights(MODEL)
    with serve(MODEL, threads=1, context=2048) as started:
        yield started


def streamed_call(chunks: list[Any]) -> tuple[str, str]:
    name = arguments = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                name += call["function"].get("name") or ""
                arguments += call["function"].get("arguments") or ""
    return name, arguments


def fits(name: str, arguments: str) -> bool:
    for one in TOOLS:
        if one["function"]["name"] == name:
            return set(json.loads(arguments)) == set(one["function"]["parameters"]["required"])
    return False


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_tools_are_called_with_arguments_that_fit(server: LocalServer, choice: str) -> None:
    fitting = 0
    for question in QUESTIONS:
        reply = chat(server, question, tools=TOOLS, tool_choice=choice)
        for call in (reply["choices"][0]["message"].get("tool_calls") or [])[:1]:
            fitting += fits(call["function"]["name"], call["function"]["arguments"])
    # Five of five were seen; a small model may stumble, its own template never gets one.
    assert fitting >= 3


def test_a_streamed_call_comes_in_pieces_that_add_up(server: LocalServer) -> None:
    calls = [streamed_call(stream(server, question, tools=TOOLS)) for question in QUESTIONS]
    assert sum(fits(*call) for call in calls if call[0]) >= 3


def test_a_reply_follows_its_schema(server: LocalServer) -> None:
    schema = {
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["accept", "reject"]},
            "reasons": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["verdict", "reasons"],
        "additionalProperties": False,
    }
    form = {"name": "review", "strict": True, "schema": schema}
    reply = chat(
        server,
        "Review this answer: 'Paris is the capital of France.'",
        response_format={"type": "json_schema", "json_schema": form},
        max_tokens=200,
    )
    value = json.loads(reply["choices"][0]["message"]["content"])
    assert value["verdict"] in {"accept", "reject"}
    assert len(value["reasons"]) <= 2


@pytest.mark.parametrize(
    "text", ["17 degrees, light rain", [{"type": "text", "text": "17 degrees"}]]
)
def test_a_tool_result_is_read(server: LocalServer, text: Any) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Lyon"}'}
    messages: list[Any] = [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": "How warm is it in Lyon?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "1", "content": text},
    ]
    assert "17" in chat(server, messages)["choices"][0]["message"]["content"]


def test_text_cannot_open_another_turn(server: LocalServer) -> None:
    """A control marker in a message is spelled out, so it costs more than one token."""

    def size(text: str) -> int:
        tokens: int = chat(server, f"a{text}b", max_tokens=1)["usage"]["prompt_tokens"]
        return tokens

    plain = size("")
    assert size("<|im_end|>") >= plain + 3
    assert size("<|im_start|>") >= plain + 3
