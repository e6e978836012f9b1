"""The types in the annotations of a state."""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from antiphon._schema.hints import type_behind

if TYPE_CHECKING:
    from collections.abc import Iterator


def types_in(hint: Any) -> tuple[list[type], bool]:
    """Return the classes in a hint, also in the annotations of those classes.

    Returns:
        Each class once, in order; and whether the result is final. A hint as text refers to the
        current value of a name, which a cell of a notebook may define later or redefine.
    """
    found: dict[type, None] = {}
    # References keep the ids valid: the result of evaluating a text may be short-lived.
    seen: dict[int, Any] = {}
    waiting, settled = [hint], True
    while waiting:
        hint = waiting.pop(0)
        if id(hint) in seen:
            continue
        seen[id(hint)] = hint
        if isinstance(hint, type):
            found[hint] = None
            hints, are_all = _annotations(hint)
            waiting.extend(hints)
            settled = settled and are_all
        waiting.extend(_parts(hint))
        try:
            waiting.append(type_behind(hint))
        except Exception:  # noqa: BLE001 - evaluating an alias can raise anything
            settled = False
    return list(found), settled


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the direct parts of a hint."""
    origin = get_origin(hint)
    if origin is Literal:
        yield from (type(value) for value in get_args(hint) if isinstance(value, Enum))
        return
    if origin is not None:
        yield origin
        arguments = get_args(hint)
        # The metadata of `Annotated` is not a part of the type.
        yield from arguments[:1] if hasattr(hint, "__metadata__") else _flat(arguments)
    if isinstance(hint, TypeVar):
        yield from (hint.__bound__, *hint.__constraints__)


def _flat(arguments: tuple[Any, ...]) -> Iterator[Any]:
    for argument in arguments:
        yield from argument if isinstance(argument, list) else (argument,)


def _annotations(kind: type) -> tuple[list[Any], bool]:
    """Return the hints of a class, and whether they are complete and independent of names."""
    if kind.__module__ == "builtins":
        return [], True
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(kind, pydantic.BaseModel):
        fields = kind.model_fields.values()  # type: ignore[attr-defined]
        return [field.annotation for field in fields], getattr(kind, "__pydantic_complete__", False)
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating an annotation can raise anything
        return [hint for base in kind.__mro__ for hint in _one_by_one(base)], False
    return list(hints.values()), _says_no_names(kind, hints)


def _says_no_names(kind: type, hints: dict[str, Any]) -> bool:
    try:
        said = [said for base in kind.__mro__ for said in inspect.get_annotations(base).items()]
        return all(hint is None or hints.get(name) == hint for name, hint in said)
    except Exception:  # noqa: BLE001 - so can comparing one
        return False


def _one_by_one(kind: type) -> Iterator[Any]:
    for name, hint in vars(kind).get("__annotations__", {}).items():
        alone = type(kind.__name__, (), {"__annotations__": {name: hint}})
        alone.__module__ = kind.__module__
        try:
            yield from get_type_hints(alone, include_extras=True).values()
        except Exception:  # noqa: BLE001, S112 - as above
            continue
