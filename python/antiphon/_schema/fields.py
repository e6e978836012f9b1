"""The fields of a class: names, hints, defaults and texts, before any type is read."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._schema import docstring
from antiphon._schema.hints import fillings, hints_of, owner_of, peel, substitute

if TYPE_CHECKING:
    from collections.abc import Callable

# Not `dataclasses.MISSING`: as a default, that one means that there is none.
MISSING: Any = object()
"""Marks a declaration without a default value."""


@dataclass(slots=True)
class Declaration:
    """One field or parameter as its author wrote it."""

    name: str
    hint: Any
    required: bool
    default: Any = MISSING
    description: str = ""


@dataclass(slots=True)
class Layout:
    """A class with fields, and how to make an instance from some of them."""

    declarations: list[Declaration]
    make: Callable[[dict[str, Any]], Any]
    description: str


def layout_of(cls: Any, args: tuple[Any, ...]) -> Layout | None:
    """The layout of a dataclass, typed dictionary or named tuple; ``None`` for others.

    Args:
        cls: the class.
        args: what fills its type variables, for ``Box[int]``.

    Raises:
        ValidationError: a field's hint cannot be resolved.
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
    # Dataclasses and named tuples get their signature as a docstring when they have none.
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
        # With postponed hints, `__required_keys__` has not seen the qualifiers.
        qualifiers = peel(hint).qualifiers
        required = name in cls.__required_keys__ and "NotRequired" not in qualifiers
        found.append(Declaration(name, hint, required or "Required" in qualifiers))
    return found


def _of_named_tuple(cls: Any, hints: dict[str, Any]) -> list[Declaration]:
    defaults = cls._field_defaults
    return [
        Declaration(name, hints.get(name, Any), name not in defaults, defaults.get(name, MISSING))
        for name in cls._fields
    ]
