"""Images that functions and LangChain chat models return, and what these get of them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from antiphon import Agent, File, Image, Orchestrator
from antiphon.errors import ModelOutputError
from models.conftest import PIXEL

DATA = base64.b64encode(PIXEL).decode()
BLOCK = {"type": "image", "mime_type": "image/png", "base64": DATA}
HERE = {"type": "text", "text": "Here it is."}


class Chat(GenericFakeChatModel):
    """A chat model that keeps what it is sent."""

    sent: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies it

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.sent.append(messages)
        return super()._generate(messages, *args, **options)


def chat(*contents: Any) -> Chat:
    return Chat(messages=iter([AIMessage(content=content) for content in contents]))


@pytest.mark.parametrize(
    "block",
    [
        BLOCK,
        {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    ],
)
def test_an_image_of_a_langchain_reply_is_a_part_of_the_message(block: Any) -> None:
    result = Agent(chat(["Here ", {"type": "text", "text": "it is."}, block])).run("Draw.")
    assert result.messages[-1]["content"] == [HERE, BLOCK]
    assert result.answer == "Here it is.\n[image: image/png]"


def test_an_image_alone_of_a_langchain_reply_is_an_answer() -> None:
    result = Agent(chat([BLOCK])).run("Draw.")
    assert (result.outcome, result.messages[-1]["content"]) == ("answered", [BLOCK])


REFUSED = [
    ({"type": "image", "url": "https://a.test/x.png"}, "not loaded: https://a.test/x.png"),
    ({"type": "image", "base64": "~", "mime_type": "image/png"}, "base64 is malformed"),
    ({"type": "image", "base64": "AAAA", "mime_type": "image/png"}, "must be PNG, JPEG"),
]


@pytest.mark.parametrize(("block", "said"), REFUSED)
@pytest.mark.parametrize("kind", ["langchain", "function"])
def test_a_text_stands_for_an_image_that_cannot_be_taken_over(
    block: Any, said: str, kind: str
) -> None:
    parts = ["Here.", block]
    answer = Agent(chat(parts) if kind == "langchain" else lambda _: parts).run("Draw.").answer
    assert answer.startswith("Here.\n[")
    assert said in answer


def test_a_block_of_langchain_that_cannot_be_read_is_named() -> None:
    assert "cannot be read" in Agent(chat(["Here.", {"type": "image"}])).run("Draw.").answer


def test_a_reply_with_an_image_goes_back_as_a_text_and_a_message_of_the_user() -> None:
    model = chat(["Here it is.", BLOCK], "Red.")
    team = Orchestrator([Agent(model, name="painter")], checkpointer="memory:")
    team.run(["Draw this.", File(b"a <b>\n</FILE>", name="a.txt"), {"n": 1}], thread="t")
    assert team.run("Make it red.", thread="t").answer == "Red."
    (first,), (_, reply, image, last) = model.sent
    assert isinstance(first.content, list)
    assert [part["text"] for part in first.content if isinstance(part, dict)] == [
        "Draw this.",
        '<file name="a.txt">\na <b>\n&lt;/FILE>\n</file>',
        '{"n": 1}',
    ]
    assert (reply.type, reply.content) == (
        "ai",
        "Here it is.\n[part 2 of your reply: see below]",
    )
    assert isinstance(image, HumanMessage)
    assert image.content == [{"type": "text", "text": "[part 2 of your reply]"}, BLOCK]
    assert last.content == "Make it red."


@pytest.mark.parametrize(
    "reply",
    [
        ["Here it is.", Image(PIXEL)],
        {"text": "Here it is.", "media": [Image(PIXEL)]},
        {"media": [BLOCK, "Here it is."]},
    ],
)
def test_a_function_returns_images(reply: Any) -> None:
    async def later(_: Any) -> Any:
        return reply

    for model in (lambda _: reply, later):
        result = Agent(model).run("Draw.")
        assert result.messages[-1]["content"] == [HERE, BLOCK]


def test_a_generator_ends_with_images() -> None:
    def draws(_: Any) -> Any:
        yield "Here "
        yield "it is."
        yield {"media": [Image(PIXEL)]}

    assert Agent(draws).run("Draw.").messages[-1]["content"] == [HERE, BLOCK]


def test_an_image_alone_of_a_function_is_an_answer() -> None:
    result = Agent(lambda _: Image(PIXEL)).run("Draw.")
    assert (result.outcome, result.messages[-1]["content"]) == ("answered", [BLOCK])


def test_data_and_files_of_a_function_are_parts() -> None:
    result = Agent(lambda _: ["Here it is.", {"n": 1}, File(b"x", name="a.txt")]).run("q")
    kinds = [part["type"] for part in result.messages[-1]["content"]]
    assert kinds == ["text", "data", "file"]


def test_a_part_of_no_known_kind_is_a_typed_error() -> None:
    with pytest.raises(ModelOutputError) as caught:
        Agent(lambda _: ["Here.", object()]).run("q")
    assert caught.value.code == "model_reply_malformed"
    assert "object" in str(caught.value)
