"""Options that agents and teams share, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from antiphon._antiphon import RetryPolicy
from antiphon._validation import is_count, is_number, is_seconds
from antiphon.budget import Budget
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class UnsetOption:
    """The value of an option that was not given; ``None`` is a value that can be given."""

    def __repr__(self) -> str:
        return "unset"


UNSET: Final[Any] = UnsetOption()


def read_retry(given: Any, where: str) -> tuple[RetryPolicy, ...]:
    """A retry policy, or a number of attempts."""
    if given is None:
        return ()
    if isinstance(given, RetryPolicy):
        return (given,)
    if is_count(given):
        return (RetryPolicy(max_attempts=given),)
    raise invalid_option("retry", where, "a `RetryPolicy` or a number of attempts", repr(given))


def read_seconds(given: Any, where: str) -> float | None:
    """A time-out in seconds."""
    if given is None or is_seconds(given):
        return None if given is None else float(given)
    raise invalid_option("timeout", where, "a number of seconds above zero", repr(given))


def read_budget(given: Any, where: str) -> Budget | None:
    """A budget."""
    if given is None or isinstance(given, Budget):
        return given
    hint = "write `Budget(model_calls=20)`"
    raise invalid_option("budget", where, "a `Budget`", type(given).__name__, hint)


def read_count(given: Any, option: str, where: str) -> int:
    """An integer of at least 1."""
    if is_count(given):
        return given
    raise invalid_option(option, where, "a whole number of at least 1", repr(given))


def read_temperature(given: Any, where: str) -> float | None:
    """A temperature."""
    if given is None or is_number(given):
        return None if given is None else float(given)
    raise invalid_option("temperature", where, "a non-negative number", repr(given))


def read_on_error(given: Any, where: str) -> str | None:
    """What an exception of an agent does: ``raise`` or ``record``."""
    if given is None or given in ("raise", "record"):
        found: str | None = given
        return found
    hint = f"write `fallback={given!r}` for an agent that takes over"
    raise invalid_option("on_error", where, '"raise" or "record"', repr(given), hint)


def read_tools(given: Any, where: str) -> list[Any] | tuple[Any, ...]:
    """A list of tools, which are not read yet."""
    if isinstance(given, list | tuple):
        return given
    raise invalid_option("tools", where, "a list", type(given).__name__, "write `tools=[...]`")


def check_given(given: Mapping[str, Any], where: str) -> None:
    """Checks those options of an agent that can be checked alone, when the agent is made.

    Raises:
        ValidationError: one of them is wrong (``agent_invalid``).
    """
    for option, read in _ALONE.items():
        if option in given:
            read(given[option], where)
    for option in ("max_model_calls", "max_tool_calls", "max_output_tokens"):
        if option in given and (option != "max_output_tokens" or given[option] is not None):
            read_count(given[option], option, where)


_ALONE: Mapping[str, Callable[[Any, str], object]] = {
    "retry": read_retry,
    "timeout": read_seconds,
    "budget": read_budget,
    "temperature": read_temperature,
    "on_error": read_on_error,
    "tools": read_tools,
}


def invalid_option(
    option: str, where: str, expected: str, found: str, hint: str | None = None
) -> ValidationError:
    """The error of an option whose value does not fit."""
    return ValidationError(
        f"`{option}` of {where} must be {expected}: {found}",
        code="agent_invalid",
        details={"option": option},
        hint=hint,
    )
