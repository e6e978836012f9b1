"""Approval: who decides whether a call of a tool is made."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._model.function import is_asynchronous
from antiphon.errors import ToolError, ValidationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from antiphon.tools import Tool

__all__ = [
    "Approval",
    "Approve",
    "ToolCall",
    "approver",
    "check_approval",
    "heed",
    "is_async_approver",
    "judge",
    "judge_async",
    "refuse_persons",
    "refused",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that is not made yet, for whoever approves of it.

    Attributes:
        name: the tool's name.
        arguments: JSON values by name, which fit the tool's schema: the tool is called with
            these. Changing them changes nothing.
        call_id: the model's id of this call; of a call that code makes, one that the node gives
            to no other call of the tool.

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
"""False: nobody has to approve; true: a person has to; or what decides at once."""


def check_approval(name: str, value: Any) -> Approval:
    """True, false, or a callable.

    Raises:
        ValidationError: it is something else (``tool_option``).
    """
    if isinstance(value, bool) or (callable(value) and not isinstance(value, type)):
        return value
    raise ValidationError(
        f"`approval` of tool `{name}` has to be true, false or a function of the call: {value!r}",
        code="tool_option",
        details={"tool": name, "option": "approval"},
    )


def approver(tool: Tool) -> Approve | None:
    """What decides at once about a tool's calls, if something does."""
    return None if isinstance(tool.approval, bool) else tool.approval


def is_async_approver(approve: Approve) -> bool:
    """Whether calling it is known to give an awaitable."""
    return is_asynchronous(approve)


def judge(
    approve: Approve, call: ToolCall, loop: asyncio.AbstractEventLoop | None = None
) -> bool | str:
    """Decides about a call, and waits for it where it has to.

    Args:
        approve: decides.
        call: about this.
        loop: where an awaitable is awaited. Default: antiphon's own.

    Raises:
        ToolError: it is no decision (``approval_failed``).
        Exception: whatever the callable raises.
    """
    given = approve(call)
    return _decided(call.name, _waited(given, loop) if inspect.isawaitable(given) else given)


async def judge_async(approve: Approve, call: ToolCall) -> bool | str:
    """`judge` on the caller's event loop; a function that is not async runs on a thread."""
    import asyncio

    if is_async_approver(approve):
        given: Any = approve(call)
    else:
        given = await asyncio.to_thread(approve, call)
    return _decided(call.name, await given if inspect.isawaitable(given) else given)


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
        f"the `approval` of tool `{name}` has to return true, false or a reason against the "
        f"call: {type(given).__name__}",
        code="approval_failed",
        details={"tool": name},
    )


def heed(name: str, decision: object) -> None:
    """Lets a call pass that is approved.

    Raises:
        ToolError: it is not (``tool_refused``).
    """
    if decision is not True:
        raise refused(name, decision if isinstance(decision, str) else None)


def refused(name: str, reason: str | None) -> ToolError:
    """That a call was not approved."""
    if reason is not None and reason.strip():
        return ToolError(
            f"the call of `{name}` was not approved, and not made: {reason}",
            code="tool_refused",
            details={"tool": name, "reason": reason},
        )
    return ToolError(
        f"the call was not approved, and not made: {name}",
        code="tool_refused",
        details={"tool": name},
    )


def refuse_persons(tools: Iterable[Tool], where: str, way_out: str) -> None:
    """Refuses tools that a person has to approve of, where nothing can wait for one.

    Raises:
        ValidationError: there is one (``approval_unavailable``).
    """
    for tool in tools:
        if tool.approval is True:
            raise ValidationError(
                f"a person has to approve of the calls of tool `{tool.name}`, and there is no "
                f"pausing for one in {where}",
                code="approval_unavailable",
                details={"tool": tool.name},
                hint=f"{way_out}, or give the tool an `approval` that decides at once",
            )


def _waited(awaitable: Any, loop: asyncio.AbstractEventLoop | None) -> Any:
    import asyncio

    from antiphon import _loop

    async def wait() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(wait(), loop or _loop.running())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
