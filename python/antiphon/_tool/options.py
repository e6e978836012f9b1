"""The knobs of a tool, checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypedDict, cast, get_args

from antiphon._validation import LARGEST_COUNT, is_count, is_seconds
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from antiphon._tool.approval import Approval

SideEffect: TypeAlias = Literal["none", "read", "write", "external"]
"""What calling a tool does to the world."""

MAX_RESULT = 20_000
"""Characters of a result that a model sees unless the tool says otherwise."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolOptions(TypedDict, total=False):
    """The keyword arguments of `Tool`; see there."""

    name: str | None
    description: str | None
    timeout: float | None
    max_calls: int | None
    approval: Approval
    idempotent: bool
    cache: bool | None
    side_effect: SideEffect
    max_result: int


def check_name(name: Any, origin: str) -> str:
    """A tool's name, if providers accept it.

    Raises:
        ValidationError: it has other characters or more than 64 (``tool_name``).
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValidationError(
        f"the name of a tool made from `{origin}` has to be 1 to 64 letters, digits, "
        f"`_` or `-`: {name}",
        code="tool_name",
        details={"name": str(name)},
        hint='give one: `@tool(name="...")`',
    )


def check_timeout(name: str, timeout: Any) -> float | None:
    """Seconds above zero, or ``None`` for no limit of its own."""
    if timeout is None:
        return None
    if not is_seconds(timeout):
        _refuse(name, "timeout", "a finite number of seconds above zero", timeout)
    return float(timeout)


def check_count(name: str, option: str, value: Any) -> int:
    """A whole number of at least 1."""
    if not is_count(value):
        _refuse(name, option, f"a whole number from 1 to {LARGEST_COUNT}", value)
    return value


def check_side_effect(name: str, value: Any) -> SideEffect:
    """One of the four words."""
    if value not in get_args(SideEffect):
        _refuse(name, "side_effect", "one of none, read, write, external", value)
    return cast("SideEffect", value)


def check_flag(name: str, option: str, *, value: Any) -> bool:
    """True or false, nothing like it."""
    if not isinstance(value, bool):
        _refuse(name, option, "true or false", value)
    return value


def check_text(name: str, option: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        _refuse(name, option, "text", value)
    return value


def _refuse(name: str, option: str, expected: str, value: object) -> NoReturn:
    raise ValidationError(
        f"`{option}` of tool `{name}` has to be {expected}: {value!r}",
        code="tool_option",
        details={"tool": name, "option": option},
    )
