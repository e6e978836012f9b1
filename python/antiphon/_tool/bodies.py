"""What stands behind a tool, by what it is made from."""

from __future__ import annotations

from typing import Any, TypeAlias

from antiphon._tool.function import FunctionBody
from antiphon._tool.langchain import LangChainBody, is_langchain_tool
from antiphon._tool.native import NativeBody
from antiphon._tool.schema import SchemaBody
from antiphon.errors import ValidationError

ToolBody: TypeAlias = FunctionBody | LangChainBody | NativeBody | SchemaBody
"""Calls a tool, and knows its name, its description and its parameters."""


def body_of(given: Any, tool_type: type) -> ToolBody:
    """The body of a tool made from a callable, a LangChain tool or a body.

    Raises:
        ValidationError: it is none of these (``tool_function``), or a tool already.
    """
    if isinstance(given, SchemaBody | NativeBody):
        return given
    if is_langchain_tool(given):
        return LangChainBody(given)
    if isinstance(given, staticmethod):
        given = given.__func__
    if not callable(given) or isinstance(given, tool_type):
        raise ValidationError(
            f"a tool must be callable: {type(given).__name__}",
            code="tool_function",
            details={"type": type(given).__name__},
            hint="pass a function, a `Tool` or a LangChain tool",
        )
    return FunctionBody(given)
