"""JSON schemas of what graphs take and return."""

from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
import typing_extensions

from support.oracle import Impl
from support.states import say


class Question(typing_extensions.TypedDict):
    """What goes in."""

    topic: str
    depth: typing_extensions.NotRequired[int]


class Article(typing_extensions.TypedDict):
    """What comes out."""

    text: str


class Draft(Question, Article):
    """The state."""


class Model(pydantic.BaseModel):
    """A state that is a model."""

    topic: str
    depth: int = 3


@dataclass
class Record:
    """A state that is a dataclass."""

    topic: str
    depth: int = 3


def graph_of(impl: Impl, state: Any, **schemas: Any) -> Any:
    builder = impl.StateGraph(state, **schemas).add_node("a", say("a"))
    return builder.add_edge(impl.START, "a").compile(name="chat")


def test_schemas_name_the_keys(impl: Impl) -> None:
    graph = graph_of(impl, Draft, input_schema=Question, output_schema=Article)
    given = graph.get_input_jsonschema()
    assert given["properties"] == {
        "topic": {"title": "Topic", "type": "string"},
        "depth": {"title": "Depth", "type": "integer"},
    }
    assert given["required"] == ["topic"]
    assert list(graph.get_output_jsonschema()["properties"]) == ["text"]
    assert graph.get_context_jsonschema() is None


@pytest.mark.parametrize("state", [Model, Record])
def test_schemas_of_models_and_dataclasses_have_defaults(impl: Impl, state: type) -> None:
    schema = graph_of(impl, state).get_input_jsonschema()
    assert schema["properties"]["depth"] == {"default": 3, "title": "Depth", "type": "integer"}
    assert schema["required"] == ["topic"]


def test_the_input_schema_checks_an_input(impl: Impl) -> None:
    schema = graph_of(impl, Question).get_input_schema()
    assert schema.model_validate({"topic": "x"}).model_dump() == {"topic": "x"}
    with pytest.raises(pydantic.ValidationError):
        schema.model_validate({"depth": 1})
    assert graph_of(impl, Model).get_input_schema() is Model


def test_the_context_has_a_schema(impl: Impl) -> None:
    schema = graph_of(impl, Draft, context_schema=Record).get_context_jsonschema()
    assert list(schema["properties"]) == ["topic", "depth"]


@pytest.mark.only("antiphon")
def test_a_typed_dict_of_the_standard_library_has_a_schema(impl: Impl) -> None:
    import typing

    class Plain(typing.TypedDict, total=False):
        topic: typing.Required[str]
        depth: typing.Annotated[int, "deep"]

    schema = graph_of(impl, Plain).get_input_jsonschema()
    assert (list(schema["properties"]), schema["required"]) == (["topic", "depth"], ["topic"])
