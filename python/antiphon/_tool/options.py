"""The options of tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from antiphon._tool.gate import BreakerSpec, CircuitBreaker
from antiphon._validation import LARGEST_COUNT, is_count, is_seconds
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import RetryPolicy
    from antiphon._schema import JsonSchema
    from antiphon._tool.approval import Approval

SideEffect: TypeAlias = Literal["none", "read", "write", "external"]
"""The side effects of a call."""

MAX_RESULT = 20_000
"""Characters of a result that a model sees unless the tool says otherwise."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CallOptions(TypedDict, total=False):
    """The keyword arguments of `Tool` that are about its calls; see there."""

    timeout: float | None
    max_concurrency: int | None
    breaker: CircuitBreaker | bool
    retry: RetryPolicy | int | None
    max_calls: int | None
    approval: Approval
    idempotent: bool
    cache: bool | None
    side_effect: SideEffect
    max_result: int


class ToolOptions(CallOptions, total=False):
    """The keyword arguments of `Tool`; see there."""

    name: str | None
    description: str | None


class ToolSpec(TypedDict):
    """A tool as the engine sees it."""

    name: str
    description: str
    parameters: JsonSchema
    results: JsonSchema | None
    side_effect: SideEffect
    idempotent: bool
    cache: bool | None
    timeout: float | None
    max_concurrency: int | None
    breaker: BreakerSpec | None
    max_calls: int | None
    approval: Literal["none", "person", "host"]
    max_result: int


def check_name(name: Any, origin: str) -> str:
    """A tool's name, if providers accept it.

    Raises:
        ValidationError: it has other characters or more than 64 (``tool_name``).
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValidationError(
        f"the name of a tool made from `{origin}` must be 1 to 64 ASCII letters, digits, "
        f"`_` or `-`: {name}",
        code="tool_name",
        details={"name": str(name)},
        hint='pass one: `@tool(name="...")`',
    )


def check_list(given: Any) -> Iterable[Any]:
    """A list of tools.

    Raises:
        ValidationError: it is something else, such as a single tool (``tool_function``).
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ValidationError(
            f"tools must be given as a list: {type(given).__name__}",
            code="tool_function",
            hint="write `tools=[...]`",
        )
    return given


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Validates the options of a tool, other than its name.

    Raises:
        ValidationError: one has a wrong value (``tool_option``).
    """
    for option, value in options.items():
        fits, expected = _CHECKS[option]
        if not fits(value):
            raise ValidationError(
                f"`{option}` of tool `{name}` must be {expected}: {value!r}",
                code="tool_option",
                details={"tool": name, "option": option},
            )


def _is_approval(value: Any) -> bool:
    return isinstance(value, bool) or (callable(value) and not isinstance(value, type))


_COUNT = f"a whole number from 1 to {LARGEST_COUNT}"
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "description": (lambda value: isinstance(value, str), "text"),
    "timeout": (
        lambda value: value is None or is_seconds(value),
        "a finite number of seconds above zero",
    ),
    "max_calls": (lambda value: value is None or is_count(value), _COUNT),
    "max_concurrency": (lambda value: value is None or is_count(value), _COUNT),
    "breaker": (
        lambda value: isinstance(value, bool | CircuitBreaker),
        "true, false or a `CircuitBreaker`",
    ),
    "approval": (_is_approval, "true, false or a function of the call"),
    "idempotent": (lambda value: isinstance(value, bool), "true or false"),
    "cache": (lambda value: value is None or isinstance(value, bool), "true or false"),
    "side_effect": (
        lambda value: value in get_args(SideEffect),
        "one of none, read, write, external",
    ),
    "max_result": (is_count, _COUNT),
}
