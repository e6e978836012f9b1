"""Types with named fields: dataclasses, typed dictionaries, named tuples, arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._schema.shape import Described, Mismatch, Path, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._schema.definitions import Definitions, JsonSchema

NO_DEFAULT: Any = object()
"""Marks a field without a default that JSON can show."""


@dataclass(slots=True)
class Field:
    """One field of a record."""

    name: str
    shape: Shape
    required: bool = True
    default: Any = NO_DEFAULT
    """The default as JSON, to show; the record's own code applies it."""
    description: str = ""
    """From a docstring; a text in the hint itself wins."""

    def schema(self, definitions: Definitions) -> JsonSchema:
        """The field's schema with its description and default."""
        schema = self.shape.schema(definitions)
        if self.description and not isinstance(self.shape, Described):
            schema = {**schema, "description": self.description}
        if self.default is not NO_DEFAULT:
            schema = {**schema, "default": self.default}
        return schema


@dataclass(slots=True)
class Record(Shape):
    """An object with known fields."""

    fields: list[Field]
    make: Callable[[dict[str, Any]], Any]
    """Takes the fields that are present."""
    description: str = ""
    closed: bool = False
    """Whether an unknown field is an error; if not, it is ignored."""
    noun: str = "an object"

    def schema(self, definitions: Definitions) -> JsonSchema:
        """An object with its properties."""
        schema: JsonSchema = {"type": "object"}
        if self.description:
            schema["description"] = self.description
        schema["properties"] = {field.name: field.schema(definitions) for field in self.fields}
        if required := [field.name for field in self.fields if field.required]:
            schema["required"] = required
        if self.closed:
            schema["additionalProperties"] = False
        return schema

    def build(self, value: Any, path: Path) -> Any:
        """The object that the record's own class makes of the fields."""
        if not isinstance(value, dict):
            raise self.misfit(path, value)
        if self.closed and (
            unknown := sorted(value.keys() - {field.name for field in self.fields})
        ):
            raise Mismatch((*path, unknown[0]), "is unknown", value[unknown[0]])
        present: dict[str, Any] = {}
        for field in self.fields:
            if field.name in value:
                present[field.name] = field.shape.build(value[field.name], (*path, field.name))
            elif field.required:
                raise Mismatch((*path, field.name), "is missing", value)
        try:
            return self.make(present)
        except (TypeError, ValueError, AssertionError) as error:
            # The class's own checks, in `__post_init__` for instance.
            raise Mismatch(path, f"is refused ({error})", value) from error

    def surplus(self, value: Any) -> int:
        """How many fields of `value` are unknown."""
        if not isinstance(value, dict):
            return 0
        return len(value.keys() - {field.name for field in self.fields})
