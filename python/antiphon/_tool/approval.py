"""The approval of calls of tools."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from antiphon._event_loop import run_blocking
from antiphon._sync_async import Routine, call_any
from antiphon._text import well_formed
from antiphon.errors import ToolError, ValidationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that awaits approval.

    Attributes:
        name: the tool's name.
        arguments: the validated arguments, JSON values by name. Changes to them have no effect.
        call_id: the model's id of this call; for a call made by code, an id that is unique within
            the node.

    Example:
        >>> def small(call: ToolCall) -> bool | str:
        ...     return call.arguments["euros"] < 100 or "only sums under 100 euros"
    """

    name: str
    arguments: Mapping[str, Any]
    call_id: str


Approve: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""Decides about a call: true, false, or the reason against it; sync or async."""

Approval: TypeAlias = bool | Approve
"""False: no approval; true: by a person; or a function that decides at once."""


def approval_kind(approval: Approval) -> Literal["none", "person", "host"]:
    """Who decides, as the engine sees it."""
    if isinstance(approval, bool):
        return "person" if approval else "none"
    return "host"


class Approvable(Protocol):
    """A tool, as far as approval needs it."""

    @property
    def name(self) -> str:
        """The tool's name."""

    @property
    def approval(self) -> Approval:
        """Who decides about its calls."""


def approver(tool: Approvable) -> Approve | None:
    """The function that decides about a tool's calls, if there is one."""
    return None if isinstance(tool.approval, bool) else tool.approval


def decide(approve: Approve, call: ToolCall) -> Routine[bool | str]:
    """The decision of a sync or async function about a call.

    Raises:
        ToolError: it is no decision (``approval_failed``).
        Exception: the exception of the function.
    """
    return _decided(call.name, (yield call_any(approve, call)))


def decide_call(
    approve: Approve, call: ToolCall, loop: asyncio.AbstractEventLoop | None = None
) -> bool | str:
    """`decide` on this thread; a coroutine runs on `loop`. Default: antiphon's own."""
    given = approve(call)
    return _decided(
        call.name, run_blocking(given, loop=loop) if inspect.isawaitable(given) else given
    )


def _decided(name: str, given: Any) -> bool | str:
    """A decision, if that is what it is.

    Raises:
        ToolError: it is none (``approval_failed``): the call is not made.
    """
    if given == "approve":
        return True
    if isinstance(given, bool | str):
        return given
    raise ToolError(
        f"the `approval` of tool `{name}` must return true, false or a reason against the "
        f"call: {type(given).__name__}",
        code="approval_failed",
        details={"tool": name},
    )


def enforce(name: str, decision: object) -> None:
    """Returns if a call is approved.

    Raises:
        ToolError: it is not (``tool_refused``).
    """
    if decision is not True:
        raise refused(name, decision if isinstance(decision, str) else None)


def refused(name: str, reason: str | None) -> ToolError:
    """The error of a call that was not approved."""
    if reason is not None and reason.strip():
        return ToolError(
            f"the call of `{name}` was rejected: {reason}",
            code="tool_refused",
            details={"tool": name, "reason": reason},
        )
    return ToolError(
        f"the call was rejected: {name}",
        code="tool_refused",
        details={"tool": name},
    )


def refuse_persons(tools: Iterable[Approvable], where: str, way_out: str) -> None:
    """Refuses tools that need approval by a person, where runs cannot pause.

    Raises:
        ValidationError: there is one (``approval_unavailable``).
    """
    for tool in tools:
        if tool.approval is True:
            raise ValidationError(
                f"tool `{tool.name}` needs approval by a person, for whom {where} cannot pause",
                code="approval_unavailable",
                details={"tool": tool.name},
                hint=f"{way_out}; or let a function decide: `@tool(approval=decide)`, which takes "
                "the call and returns true, false or a reason against it",
            )


_INTEGERS = range(-(2**63), 2**64)
"""What readers of JSON keep exactly."""
_DEEPEST = 100
"""Levels of nesting; JSON readers stop at 128."""


def json_arguments(tool: Approvable, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a call's arguments as JSON values.

    The approver sees these and the tool gets these: neither the caller nor the approver can change
    one in between. Tuples become lists, and subclasses of text, numbers and containers plain ones.

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
    """A copy of a JSON value with new containers."""
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


def _unshowable(tool: Approvable, error: _NotJsonError) -> ValidationError:
    kind, place = type(error.value).__qualname__, error.place[:80]
    described = f"{kind} {error.value!r}" if type(error.value) is float else kind
    return ValidationError(
        f"a call of `{tool.name}` needs approval, but JSON cannot express the argument "
        f"`{place}`: {described[:80]}",
        code="argument_unshowable",
        details={"tool": tool.name, "argument": place, "type": kind},
        hint="pass strings, finite numbers, lists and dicts with string keys",
    )
