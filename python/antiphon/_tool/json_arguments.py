"""Arguments of a call as JSON: what an approver is shown, and what the tool is called with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from antiphon._encode import well_formed
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.tools import Tool

__all__ = ["json_arguments"]

_INTEGERS = range(-(2**63), 2**64)
"""What readers of JSON keep exactly."""
_DEEPEST = 100
"""Levels of nesting; JSON readers stop at 128."""


def json_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call that needs approval as JSON values, shared with nobody.

    The approver sees these and the tool is called with these: neither the caller nor the
    approver can change one of them in between. Tuples become lists, and text, numbers and
    containers of a class of their own plain ones.

    Args:
        tool: what is to be called.
        arguments: by name.

    Raises:
        ValidationError: JSON has no form for an argument (``argument_unshowable``).
    """
    try:
        return {
            name: _copy(value, name if name.isidentifier() else repr(name), 0)
            for name, value in arguments.items()
        }
    except _NotJsonError as error:
        raise _unshowable(tool, error) from None


class _NotJsonError(Exception):
    """A value inside an argument that is no JSON value: where it is, and what."""

    def __init__(self, place: str, value: Any) -> None:
        super().__init__(place)
        self.place, self.value = place, value


def _copy(value: Any, place: str, depth: int) -> Any:
    """The same JSON value, in containers of its own."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and well_formed(value) == value:
        return str.__str__(value)
    if isinstance(value, int) and int(value) in _INTEGERS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            items = enumerate(tuple(value))
            return [_copy(item, f"{place}[{number}]", depth + 1) for number, item in items]
        if isinstance(value, dict) and all(_is_key(key) for key in value):
            entries = tuple(value.items())
            return {
                str.__str__(key): _copy(item, f"{place}[{key!r}]", depth + 1)
                for key, item in entries
            }
    raise _NotJsonError(place, value)


def _is_key(key: object) -> bool:
    return isinstance(key, str) and well_formed(key) == key


def _unshowable(tool: Tool, error: _NotJsonError) -> ValidationError:
    kind, place = type(error.value).__qualname__, error.place[:80]
    told = f"{kind} {error.value!r}" if type(error.value) is float else kind
    return ValidationError(
        f"a call of `{tool.name}` cannot be put to its approver, JSON has no form for the "
        f"argument `{place}`: {told[:80]}",
        code="argument_unshowable",
        details={"tool": tool.name, "argument": place, "type": kind},
        hint="pass text, finite numbers, lists and dicts with text as keys",
    )
