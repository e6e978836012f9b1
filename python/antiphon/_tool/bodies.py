"""What stands behind a tool, by what it is made from."""

from __future__ import annotations

import inspect
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
        ValidationError: it is none of these (``tool_function``), a tool already, or a built-in
            function that makes tools.
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
    _check_called(given)
    return FunctionBody(given)


def _check_called(given: Any) -> None:
    """Refuses `calculator` where its tool, `calculator()`, is meant."""
    if not inspect.isfunction(given) or not given.__module__.startswith(_FACTORIES):
        return
    name = given.__name__
    needed = any(one.default is one.empty for one in inspect.signature(given).parameters.values())
    raise ValidationError(
        f"a function that makes tools is no tool itself: {name}",
        code="tool_function",
        details={"type": "function"},
        hint=f"call it: `{name}({'...' if needed else ''})`",
    )


_FACTORIES = "antiphon._builtin_tools."
