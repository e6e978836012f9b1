"""The types that the annotations of a state mention."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Iterator


def types_in(hint: Any) -> list[type]:
    """The classes that a hint mentions, also in the annotations of those classes.

    Args:
        hint: a class or any other annotation.

    Returns:
        Each class once, in the order they are met.
    """
    found: dict[type, None] = {}
    seen: set[int] = set()
    waiting = [hint]
    while waiting:
        hint = waiting.pop(0)
        if id(hint) in seen:
            continue
        seen.add(id(hint))
        if isinstance(hint, type):
            found[hint] = None
            waiting.extend(_annotations(hint))
        waiting.extend(_parts(hint))
    return list(found)


def _parts(hint: Any) -> Iterator[Any]:
    """What a hint is made of."""
    origin = get_origin(hint)
    if origin is Literal:
        yield from (type(value) for value in get_args(hint) if isinstance(value, Enum))
        return
    if origin is not None:
        yield origin
        arguments = get_args(hint)
        # What stands beside a type in `Annotated` says something about it, and is no part of it.
        yield from arguments[:1] if hasattr(hint, "__metadata__") else _flat(arguments)
    if isinstance(hint, TypeVar):
        yield from (hint.__bound__, *hint.__constraints__)
    for inside in ("__supertype__", "__value__"):  # of a `NewType`, of a `type` statement
        if not isinstance(hint, type) and hasattr(hint, inside):
            yield getattr(hint, inside)


def _flat(arguments: tuple[Any, ...]) -> Iterator[Any]:
    for argument in arguments:
        yield from argument if isinstance(argument, list) else (argument,)


def _annotations(kind: type) -> list[Any]:
    """The hints of a class; those that name what cannot be found are left out."""
    if kind.__module__ == "builtins":
        return []
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(kind, pydantic.BaseModel):
        return [field.annotation for field in kind.model_fields.values()]  # type: ignore[attr-defined]
    try:
        return list(get_type_hints(kind, include_extras=True).values())
    except Exception:  # noqa: BLE001  # an annotation may say anything
        return [hint for base in kind.__mro__ for hint in _one_by_one(base)]


def _one_by_one(kind: type) -> Iterator[Any]:
    for name, hint in vars(kind).get("__annotations__", {}).items():
        alone = type(kind.__name__, (), {"__annotations__": {name: hint}})
        alone.__module__ = kind.__module__
        try:
            yield from get_type_hints(alone, include_extras=True).values()
        except Exception:  # noqa: BLE001, S112  # as above
            continue
