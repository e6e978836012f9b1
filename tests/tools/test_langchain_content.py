"""Images and files that tools return, to and from LangChain, and toolkits."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool
from langgraph.prebuilt import create_react_agent

from antiphon import Agent, File, Image, tool
from antiphon.models import scripted
from antiphon.tools import Tool, files

if TYPE_CHECKING:
    from pathlib import Path

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQI12P4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC"
)
DATA = base64.b64encode(PNG).decode()
IMAGE = {"type": "image", "mime_type": "image/png", "base64": DATA}


def returning(value: Any) -> BaseTool:
    return StructuredTool.from_function(lambda: value, name="look", description="Looks.")


def message_of(made: Any) -> Any:
    """What a model reads when an agent has called the tool."""
    model = scripted([{"tool_calls": [{"name": made.name, "arguments": {}}]}, "Seen."])
    Agent(name="viewer", model=model, tools=[made]).run("?")
    return model.requests[1]["messages"][-1]["content"]


def as_message(made: Tool, **arguments: Any) -> ToolMessage:
    """What LangChain's agents read."""
    call = {"type": "tool_call", "id": "1", "name": made.name, "args": arguments}
    message = made.as_langchain().invoke(call)
    assert isinstance(message, ToolMessage)
    assert asyncio.run(made.as_langchain().ainvoke(call)).content == message.content
    return message


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        IMAGE,
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": DATA},
        },
    ],
    ids=["openai", "standard", "anthropic"],
)
def test_an_image_of_a_langchain_tool_is_an_image_for_the_model(block: Any) -> None:
    text = {"type": "text", "text": "a dot"}
    assert message_of(returning([text, block])) == [text, IMAGE]
    seen = Tool.from_any(returning([block])).call({})
    assert isinstance(seen, Image)


@pytest.mark.parametrize("kind", ["image", "image_url"])
def test_an_image_of_a_langchain_tool_is_never_read_from_a_file_here(
    kind: str, tmp_path: Path
) -> None:
    # The tool may pass on what a stranger's server has said.
    path = tmp_path / "private.png"
    path.write_bytes(PNG)
    for named in (str(path), path.as_uri()):
        block = {"type": kind, "url": named, "image_url": {"url": named}}
        made = returning([{"type": "text", "text": "a dot"}, block])
        assert Tool.from_any(made).call({}) == ["a dot", {"type": "image", "url": named}]
        assert DATA not in json.dumps(message_of(made))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "json", "json": {"a": 1}}], [{"type": "json", "json": {"a": 1}}]),
        ([{"type": "image", "of": "a dot"}], [{"type": "image", "of": "a dot"}]),
        ([], []),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_other_results_of_a_langchain_tool_stay_what_they_are(value: Any, expected: Any) -> None:
    assert Tool.from_any(returning(value)).call({}) == expected


def test_langchain_gets_images_and_files_as_content_blocks(tmp_path: Path) -> None:
    @tool(side_effect="read")
    def look() -> list[Any]:
        """Looks."""
        return ["a dot", Image(PNG), File(b"a,b", name="a.csv"), {"wide": 1}]

    content = as_message(look).content
    assert isinstance(content, list)
    text, image, file, data = content
    assert text == {"type": "text", "text": "a dot"}
    assert image == IMAGE
    assert isinstance(file, dict)
    assert (file["type"], file["filename"]) == ("file", "a.csv")
    assert isinstance(data, dict)
    assert json.loads(data["text"]) == {"wide": 1}

    (tmp_path / "dot.png").write_bytes(PNG)
    read = files(tmp_path).tools[0]
    assert as_message(read, path="dot.png").content[1] == IMAGE


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_an_agent_of_langgraph_sees_the_image() -> None:
    @tool(side_effect="read")
    def look() -> Image:
        """Looks."""
        return Image(PNG)

    class Script(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    script = Script(messages=iter([call, AIMessage("A dot.")]))
    graph = create_react_agent(script, [look.as_langchain()])
    messages = graph.invoke({"messages": [("user", "?")]})["messages"]
    assert messages[2].content == [IMAGE]
    assert messages[-1].content == "A dot."


def test_a_toolkit_is_the_tools_in_it() -> None:
    class Kit(BaseToolkit):
        def get_tools(self) -> list[BaseTool]:
            return [returning("one"), StructuredTool.from_function(len, name="size")]

    model = scripted([{"tool_calls": [{"name": "look", "arguments": {}}]}, "Seen."])
    Agent(name="viewer", model=model, tools=[Kit()]).run("?")
    assert [one["name"] for one in model.requests[0]["tools"]] == ["look", "size"]
    assert model.requests[1]["messages"][-1]["content"] == "one"
