"""Validation of the outcome that a worker reports.

The worker is untrusted: input that no honest worker sends is refused, long texts are cut.
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
"""Failures that a worker can detect; only the host detects the others."""
_MESSAGE, _LINE, _FRAMES = 16_000, 1_000, 5
_WORDS, _NUMBERS = ("type", "source"), ("line", "column")
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,1000}")
"""A short name without control characters."""
_LOST = 201
"""Most lost variables, and most lost tables."""
_PARTS: dict[str, tuple[str, ...]] = {
    "value": ("value", "value_error"),
    "locals": ("locals", "local_errors"),
    "tables": ("tables", "table_errors"),
    "figures": ("figures",),
}
"""The fields of an outcome, by the part of the result that they belong to."""


def validate_outcome(
    found: Mapping[str, Any], most: Mapping[str, int], want: Collection[str]
) -> dict[str, Any]:
    """Validate the types of an outcome, and complete missing fields.

    Args:
        found: the body of the outcome.
        most: the budgets of the job.
        want: the requested parts of the result.

    Raises:
        Malformed: no honest worker sends this.
    """
    unasked = (name for what, names in _PARTS.items() if what not in want for name in names)
    if any(found.get(name) or (name == "value" and name in found) for name in unasked):
        raise Malformed("a part that was not requested")
    figures = found.get("figures") or 0
    tables = [_name(_object(each).get("name")) for each in _list(found.get("tables"))]
    values = {_name(name): each for name, each in _object(found.get("locals") or {}).items()}
    if type(figures) is not int or not 0 <= figures <= most["figures"]:
        raise Malformed("too many figures")
    if len(tables) > most["tables"] or len(set(tables)) < len(tables):
        raise Malformed("too many tables")
    if len(values) > most["local_names"]:
        raise Malformed("too many variables")
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
        raise Malformed("too many losses")
    value = {"value": found["value"]} if "value" in found else {}
    return {**value, **faults, **errors, "locals": values, "tables": tables, "figures": figures}


def _fault(told: Any) -> dict[str, Any]:
    told = _object(told)
    kind, message = _string(told.get("kind")), _string(told.get("message", ""), _MESSAGE)
    if kind not in _KINDS:
        raise Malformed("only the host reports this kind of failure")
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
        raise Malformed("an object is expected")
    return told


def _list(told: Any) -> list[Any]:
    if told is not None and type(told) is not list:
        raise Malformed("a list is expected")
    return told or []


def _string(told: Any, most: int = _LINE) -> str:
    if type(told) is not str:
        raise Malformed("a text is expected")
    cut = told if len(told) <= most else told[:most] + "…"
    # Lone surrogates cannot be displayed or stored.
    return cut.encode("utf-8", "replace").decode("utf-8")


def _name(told: Any) -> str:
    if type(told) is not str or not _NAME.fullmatch(told):
        raise Malformed("a name is expected")
    return _string(told)


def _number(told: Any) -> int:
    if type(told) is not int:
        raise Malformed("an integer is expected")
    return told
