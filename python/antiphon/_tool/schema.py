"""A callable that takes arguments described by a JSON schema, as a tool."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import CompiledSchema
from antiphon._event_loop import is_async
from antiphon._schema.hints import hints_of
from antiphon._tool.context import check_run_context, without_context
from antiphon._tool.function import plain_function, wanted_context
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon._schema import JsonSchema
    from antiphon._tool.context import ToolContext


class SchemaBody:
    """A callable of the arguments as one dict, which it gets once they fit the schema.

    Raises:
        ValidationError: it cannot be called (``tool_function``), or the schema is not one of an
            object (``schema_invalid``).
    """

    is_method = False
    description = ""
    results: JsonSchema | None = None

    def __init__(self, name: str, schema: Mapping[str, Any], call: Any) -> None:
        if not callable(call) or isinstance(call, type):
            raise ValidationError(
                f"the tool `{name}` needs a function of its arguments: {call!r}",
                code="tool_function",
                hint="pass a function that takes one dict",
            )
        self.function = call
        self.name = self.origin = name
        self.parameters: JsonSchema = _of_object(name, schema)
        self.is_async = is_async(call)
        self._schema = CompiledSchema(name, self.parameters)
        self._context_name, self.context_type = _context_of(call, name)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Validates the arguments by the schema.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``).
        """
        wrong = self._schema.violations(dict(arguments))
        if wrong:
            path, expected, found = wrong[0]
            raise ValidationError(
                f"the arguments of tool `{self.name}` should have {expected} at "
                f"`{path or '/'}` but have: {found}",
                code="invalid_value",
                details={"path": path, "tool": self.name},
            )

    def invoke(self, arguments: Mapping[str, Any], context: ToolContext | None) -> Any:
        """Validates the arguments and calls.

        Raises:
            ValidationError: as `check`.
            ToolError: the function takes a context, or requires that of the run, and there is none
                (``tool_context``, ``context_missing``).
        """
        self.check(arguments)
        given = copy.deepcopy(dict(arguments))
        if self._context_name is None:
            return self.function(given)
        if context is None:
            raise without_context(self.name)
        check_run_context(self.name, self.context_type, context)
        return self.function(given, **{self._context_name: context})


def _of_object(name: str, schema: Any) -> JsonSchema:
    if isinstance(schema, dict) and schema.get("type", "object") == "object":
        return {"type": "object", "properties": {}, **copy.deepcopy(schema)}
    found = schema.get("type") if isinstance(schema, dict) else type(schema).__name__
    raise ValidationError(
        f"the schema of the tool `{name}` must be a JSON schema of an object: {found}",
        code="schema_invalid",
        details={"tool": name},
        hint='for instance `{"type": "object", "properties": {"city": {"type": "string"}}}`',
    )


def _context_of(call: Callable[..., Any], name: str) -> tuple[str | None, Any]:
    """The parameter for the context of a call, if there is one, and its type argument."""
    try:
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):  # built in
        return None, None
    if not any("ToolContext" in str(one.annotation) for one in parameters.values()):
        return None, None  # other hints say nothing: the schema does
    hints = hints_of(plain_function(call), name)
    for parameter in parameters:
        takes, wanted = wanted_context(hints.get(parameter))
        if takes:
            return parameter, wanted
    return None, None
