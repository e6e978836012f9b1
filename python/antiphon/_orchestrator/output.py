"""What an agent must answer with, as a JSON schema, and the Python value made of an answer."""

from __future__ import annotations

from typing import Any

from antiphon._schema import Contract

_VALUE = "value"
# Providers take schemas of objects only: anything else stands in this field of one.


class Output:
    """A type, or a JSON schema, that an answer has to fit.

    Args:
        given: a type hint, or a JSON schema as a dict.
        where: what it belongs to, for an error.

    Raises:
        ValidationError: the type has no JSON schema (``unsupported_type``,
            ``unresolved_type``).
    """

    def __init__(self, given: Any, where: str) -> None:
        self._contract = None if isinstance(given, dict) else Contract(given, where)
        plain: dict[str, Any] = given if self._contract is None else self._contract.schema
        self._wrapped = not _is_object(plain)
        self.schema = _wrap(plain) if self._wrapped else plain

    @property
    def fields(self) -> frozenset[str]:
        """The names of its fields; none if it is no object."""
        return frozenset() if self._wrapped else frozenset(_target(self.schema)["properties"])

    def construct(self, value: Any) -> Any:
        """The annotated Python object for what the model answered."""
        plain = value[_VALUE] if self._wrapped else value
        return plain if self._contract is None else self._contract.construct(plain, "answer")


def _is_object(schema: dict[str, Any]) -> bool:
    target = _target(schema)
    return target.get("type") == "object" and "properties" in target


def _target(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a reference to one of its own definitions."""
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        definitions = schema.get("$defs", {})
        schema = {**definitions.get(name, {}), "$defs": definitions}
    return schema


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key not in {"$defs", "$schema"}}
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {_VALUE: inner},
        "required": [_VALUE],
        "additionalProperties": False,
    }
    return {**wrapped, "$defs": schema["$defs"]} if "$defs" in schema else wrapped
