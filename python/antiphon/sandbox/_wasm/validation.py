"""What a worker claims came of its job, read into the form that it must have.

It may say anything: whatever no honest worker sends is refused, and long words are cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from antiphon.sandbox._guest.decode import Malformed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["validate_outcome"]

_KINDS = frozenset(
    {
        "denied",
        "disk_limit",
        "memory_limit",
        "process_limit",
        "python_error",
        "recursion_limit",
        "result_too_large",
        "syntax_error",
    }
)
"""Failures that a worker can know of; of others only the host can."""
_MESSAGE, _LINE, _FRAMES = 16_000, 1_000, 5
_WORDS, _NUMBERS = ("type", "source"), ("line", "column")
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,1000}")
"""A name that is short, and has nothing that a terminal would obey."""
_LOST = 201
"""Variables, and tables, that may be told to be lost."""
_PARTS: dict[str, tuple[str, ...]] = {
    "value": ("value", "value_error"),
    "locals": ("locals", "local_errors"),
    "tables": ("tables", "table_errors"),
    "figures": ("figures",),
}
"""What brings out what a job can want."""


def validate_outcome(
    found: Mapping[str, Any], most: Mapping[str, int], want: Collection[str]
) -> dict[str, Any]:
    """The claims, each of its type; those that were left out are empty.

    Args:
        found: an outcome's body.
        most: the budgets that the worker was told.
        want: what was asked for.

    Raises:
        Malformed: no honest worker sends this.
    """
    unasked = (name for what, names in _PARTS.items() if what not in want for name in names)
    if any(found.get(name) or (name == "value" and name in found) for name in unasked):
        raise Malformed("what it was not asked for")
    figures = found.get("figures") or 0
    tables = [_name(_object(each).get("name")) for each in _list(found.get("tables"))]
    values = {_name(name): each for name, each in _object(found.get("locals") or {}).items()}
    if type(figures) is not int or not 0 <= figures <= most["figures"]:
        raise Malformed("more figures than there may be")
    if len(tables) > most["tables"] or len(set(tables)) < len(tables):
        raise Malformed("more tables than there may be")
    if len(values) > most["local_names"]:
        raise Malformed("more variables than there may be")
    faults = {
        name: _fault(found[name])
        for name in ("error", "value_error")
        if found.get(name) is not None
    }
    errors = {
        group: {_name(name): _fault(each) for name, each in _object(found.get(group) or {}).items()}
        for group in ("local_errors", "table_errors")
    }
    if any(len(lost) > _LOST for lost in errors.values()):
        raise Malformed("more losses than anybody would read")
    value = {"value": found["value"]} if "value" in found else {}
    return {**value, **faults, **errors, "locals": values, "tables": tables, "figures": figures}


def _fault(told: Any) -> dict[str, Any]:
    told = _object(told)
    kind, message = _string(told.get("kind")), _string(told.get("message", ""), _MESSAGE)
    if kind not in _KINDS:
        raise Malformed("a failure was claimed that only the host can know of")
    whole: dict[str, Any] = {"kind": kind, "message": message}
    whole |= {name: _string(told[name]) for name in _WORDS if told.get(name) is not None}
    whole |= {name: _number(told[name]) for name in _NUMBERS if told.get(name) is not None}
    if told.get("frames") is not None:
        whole["frames"] = [_frame(each) for each in _list(told["frames"])[-_FRAMES:]]
    return whole


def _frame(told: Any) -> dict[str, Any]:
    told = _object(told)
    words = {name: _string(told.get(name) or "") for name in ("function", "source")}
    return {"line": _number(told.get("line")), **words}


def _object(told: Any) -> dict[str, Any]:
    if type(told) is not dict:
        raise Malformed("something that must be an object is none")
    return told


def _list(told: Any) -> list[Any]:
    if told is not None and type(told) is not list:
        raise Malformed("something that must be a list is none")
    return told or []


def _string(told: Any, most: int = _LINE) -> str:
    if type(told) is not str:
        raise Malformed("something that must be a text is none")
    cut = told if len(told) <= most else told[:most] + "…"
    # Halves of characters cannot be shown or stored.
    return cut.encode("utf-8", "replace").decode("utf-8")


def _name(told: Any) -> str:
    if type(told) is not str or not _NAME.fullmatch(told):
        raise Malformed("a name that is none")
    return _string(told)


def _number(told: Any) -> int:
    if type(told) is not int:
        raise Malformed("something that must be a number is none")
    return told
