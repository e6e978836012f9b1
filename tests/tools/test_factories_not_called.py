"""Built-in functions that make tools, given in place of what they make."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, Orchestrator, Tool, tools
from antiphon.errors import ValidationError
from antiphon.models import scripted

NAMES = (
    "calculator",
    "document_search",
    "download",
    "files",
    "http_api",
    "read_page",
    "sql",
    "web_search",
    "write_pdf",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_factory_that_was_not_called_is_refused_with_its_call(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Tool.from_any(getattr(tools, name))
    assert caught.value.code == "tool_function"
    assert caught.value.message == f"a function that makes tools is no tool itself: {name}"
    assert str(caught.value.hint).startswith(f"call it: `{name}(")


@pytest.mark.parametrize(("name", "call"), [("calculator", "calculator()"), ("sql", "sql(...)")])
def test_the_call_has_arguments_where_the_factory_requires_them(name: str, call: str) -> None:
    made: Any = getattr(tools, name)
    with pytest.raises(ValidationError) as caught:
        Orchestrator([Agent(scripted(["a"]), tools=[made])])
    assert caught.value.hint == f"call it: `{call}`"
