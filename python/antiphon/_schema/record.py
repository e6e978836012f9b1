"""Types with named fields: dataclasses, typed dictionaries, named tuples, arguments."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._schema import docstring
from antiphon._schema.hints import fillings, hints_of, owner_of, substitute, unwrap
from antiphon._schema.shape import DescribedShape, Mismatch, Path, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._schema.definitions import Definitions, JsonSchema


MISSING: Any = object()
"""Marks a declaration without a default; `dataclasses.MISSING` may be a default itself."""


@dataclass(slots=True)
class Declaration:
    """A field or parameter as declared."""

    name: str
    hint: Any
    required: bool
    default: Any = MISSING
    description: str = ""


@dataclass(slots=True)
class Layout:
    """The fields of a class, and a constructor from some of them."""

    declarations: list[Declaration]
    make: Callable[[dict[str, Any]], Any]
    description: str


def layout_of(cls: Any, args: tuple[Any, ...]) -> Layout | None:
    """Return the layout of a dataclass, typed dictionary or named tuple; ``None`` for others.

    `args` are the values of its type variables, for ``Box[int]``.
    """
    if not isinstance(cls, type):
        return None
    if dataclasses.is_dataclass(cls):
        collect, make = _of_dataclass, _by_keywords(cls)
    elif issubclass(cls, dict) and hasattr(cls, "__required_keys__"):
        collect, make = _of_typed_dict, dict
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        collect, make = _of_named_tuple, _by_keywords(cls)
    else:
        return None
    text = _own_docstring(cls)
    hints = hints_of(cls, cls.__name__, {cls.__name__: cls}, "field")
    filled = fillings(cls, args)
    known = {
        name: substitute(hint, filled.get(owner_of(cls, name), filled[cls]))
        for name, hint in hints.items()
    }
    declarations = collect(cls, known)
    for declaration in declarations:
        declaration.description = declaration.description or text.parameters.get(
            declaration.name, ""
        )
    return Layout(declarations, make, text.text)


def _by_keywords(cls: type) -> Callable[[dict[str, Any]], Any]:
    return lambda present: cls(**present)


def _own_docstring(cls: type) -> docstring.Docstring:
    text = vars(cls).get("__doc__")
    # The default docstring of a dataclass or named tuple is its signature.
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        return docstring.Docstring()
    return docstring.parse(text)


def _of_dataclass(cls: Any, hints: dict[str, Any]) -> list[Declaration]:
    found = []
    for field in cls.__dataclass_fields__.values():
        hint = hints[field.name]
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif (
            typing.get_origin(hint) is typing.ClassVar or hint is typing.ClassVar or not field.init
        ):
            continue
        default = MISSING if field.default is dataclasses.MISSING else field.default
        required = default is MISSING and field.default_factory is dataclasses.MISSING
        text = field.metadata.get("description", "")
        found.append(Declaration(field.name, hint, required, default, text))
    return found


def _of_typed_dict(cls: Any, hints: dict[str, Any]) -> list[Declaration]:
    found = []
    for name, hint in hints.items():
        # `__required_keys__` ignores qualifiers in hints that are strings.
        qualifiers = unwrap(hint).qualifiers
        required = name in cls.__required_keys__ and "NotRequired" not in qualifiers
        found.append(Declaration(name, hint, required or "Required" in qualifiers))
    return found


def _of_named_tuple(cls: Any, hints: dict[str, Any]) -> list[Declaration]:
    defaults = cls._field_defaults
    return [
        Declaration(name, hints.get(name, Any), name not in defaults, defaults.get(name, MISSING))
        for name in cls._fields
    ]


NO_DEFAULT: Any = object()
"""Marks a field without a default, or with one that JSON cannot represent."""


@dataclass(slots=True)
class Field:
    """A field of a record."""

    name: str
    shape: Shape
    required: bool = True
    default: Any = NO_DEFAULT
    """The default as JSON, for the schema; the class itself applies it."""
    description: str = ""
    """From a docstring; a text in the hint overrides it."""

    def schema(self, definitions: Definitions) -> JsonSchema:
        schema = self.shape.schema(definitions)
        if self.description and not isinstance(self.shape, DescribedShape):
            schema = {**schema, "description": self.description}
        if self.default is not NO_DEFAULT:
            schema = {**schema, "default": self.default}
        return schema


@dataclass(slots=True)
class Record(Shape):
    """An object with known fields."""

    fields: list[Field]
    make: Callable[[dict[str, Any]], Any]
    """Builds the object from the fields that are present."""
    description: str = ""
    closed: bool = False
    """Whether unknown fields are refused; otherwise they are ignored."""
    noun: str = "an object"

    def schema(self, definitions: Definitions) -> JsonSchema:
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
        if not isinstance(value, dict):
            return 0
        return len(value.keys() - {field.name for field in self.fields})
