"""What stands for the members of an enum in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enum import Enum

SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
"""Python types that are JSON scalars, and their name in a schema."""


def codes_of(enum: type[Enum]) -> list[tuple[Any, Any]]:
    """Pairs of JSON scalar and member, in order of definition.

    The scalar is the member's value. Names are used for the whole class as soon
    as one value is no JSON scalar.
    """
    members = list(enum)
    values = [_bare(member.value) for member in members]
    if all(type(value) in SCALARS for value in values):
        return list(zip(values, members, strict=True))
    return [(member.name, member) for member in members]


def _bare(value: Any) -> Any:
    """A subclass of a scalar, reduced to the scalar."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
