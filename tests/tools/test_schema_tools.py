"""Tools from a JSON schema and a callable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, Orchestrator, Tool, ToolContext
from antiphon.errors import ToolError, ValidationError
from antiphon.models import scripted

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "its English name"},
        "year": {"type": "integer", "default": 2026},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def inhabitants(given: dict[str, Any]) -> str:
    return f"{given['city']} in {given['year']}"


def ask(tool: Tool, arguments: Any) -> str:
    """What a model reads after a call of the tool."""
    call = {"tool_calls": [{"name": tool.name, "arguments": arguments}]}
    model = scripted([call, "Done."])
    team = Orchestrator([Agent(name="a", model=model, tools=[tool])])
    assert team.run("How many?").answer == "Done."
    content: str = model.requests[1]["messages"][-1]["content"]
    return content


def test_a_tool_from_a_schema_shows_the_model_that_schema() -> None:
    tool = Tool.from_schema("population", CITY, inhabitants, description="Counts.", timeout=5)
    assert (tool.name, tool.description, tool.timeout) == ("population", "Counts.", 5.0)
    assert tool.parameters == CITY
    tool.parameters["properties"].clear()
    assert tool.parameters == CITY


def test_the_callable_gets_the_arguments_as_one_dict() -> None:
    tool = Tool.from_schema("population", CITY, inhabitants)
    assert tool.call({"city": "Lyon", "year": 1900}) == "Lyon in 1900"
    # A model's arguments are converted and completed by the schema.
    assert ask(tool, {"city": "Lyon", "year": "1900"}) == "Lyon in 1900"
    assert ask(tool, {"city": "Lyon"}) == "Lyon in 2026"


def test_wrong_arguments_lead_the_model_to_another_call() -> None:
    read = ask(Tool.from_schema("population", CITY, inhabitants), {"town": "Lyon"})
    assert read == (
        'error: the arguments for "population" do not fit, and it was not called.\n'
        '1. `/town`: expected no such field; the fields are `city`, `year`, found "Lyon"\n'
        "2. `/city`: expected a value, the field is required, found nothing\n"
        "Paths are JSON pointers into the arguments. "
        'Call "population" again, with corrected arguments.'
    )


def test_code_that_calls_with_wrong_arguments_reads_where() -> None:
    tool = Tool.from_schema("population", CITY, inhabitants)
    with pytest.raises(ValidationError, match="should have text at `/city`") as caught:
        tool.call({"city": 3})
    assert caught.value.code == "invalid_value"
    with pytest.raises(ValidationError, match="/city"):
        tool.check({})


def test_a_coroutine_function_and_the_context_of_the_call() -> None:
    async def lookup(given: dict[str, Any], call: ToolContext) -> str:
        return f"{given['city']} {call.call_id}"

    tool = Tool.from_schema("lookup", CITY, lookup)
    assert tool.is_async
    context = ToolContext(name="lookup", call_id="c1", idempotency_key="k")
    assert asyncio.run(tool.acall({"city": "Lyon"}, context)) == "Lyon c1"
    with pytest.raises(ToolError) as caught:
        tool.call({"city": "Lyon"})
    assert caught.value.code == "tool_context"
    assert ask(tool, {"city": "Lyon"}) == "Lyon call_1"


def test_the_callable_does_not_share_its_arguments() -> None:
    def spoil(given: dict[str, Any]) -> int:
        given["list"].append(1)
        return len(given["list"])

    arguments = {"list": [0]}
    assert Tool.from_schema("spoil", {"type": "object"}, spoil).call(arguments) == 2
    assert arguments == {"list": [0]}


@pytest.mark.parametrize(
    ("schema", "found"),
    [({"type": "array"}, "array"), ("city", "str"), ({"type": "object", "properties": 3}, "3")],
)
def test_only_a_schema_of_an_object_is_taken(schema: Any, found: str) -> None:
    with pytest.raises(ValidationError, match=found) as caught:
        Tool.from_schema("population", schema, inhabitants)
    assert caught.value.code == "schema_invalid"


def test_only_a_function_is_taken() -> None:
    with pytest.raises(ValidationError, match="needs a function") as caught:
        Tool.from_schema("population", CITY, "inhabitants")  # type: ignore[arg-type]
    assert caught.value.code == "tool_function"
    with pytest.raises(ValidationError, match="1 to 64"):
        Tool.from_schema("number of people", CITY, inhabitants)
