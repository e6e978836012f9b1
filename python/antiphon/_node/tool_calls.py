"""Calls of tools that a node makes itself, and their approval."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Proposal
from antiphon._event_loop import run_blocking
from antiphon._node.calls import Call, call_of, look_up, perform, perform_async
from antiphon._tool.approval import (
    ToolCall,
    approver,
    decide_call,
    decide_call_async,
    enforce,
    json_arguments,
    refused,
)
from antiphon.errors import RunTimeout, ValidationError
from antiphon.tools import Tool, ToolContext

if TYPE_CHECKING:
    from collections.abc import Iterable

    from antiphon._antiphon import Context, Effect
    from antiphon._node.human_input import Decided, HumanInput

__all__ = ["ApprovedCall", "Approving", "find_tool", "use", "use_async"]


def find_tool(wanted: Any, tools: Iterable[Tool], agent: str) -> Tool:
    """A tool, or the agent's tool of that name.

    Raises:
        ValidationError: the agent has no such tool (``tool_unknown``), or the value is none.
    """
    if not isinstance(wanted, str):
        return Tool.from_any(wanted)
    known = {tool.name: tool for tool in tools}
    if wanted not in known:
        raise ValidationError(
            f"agent `{agent}` has no such tool: {wanted}",
            code="tool_unknown",
            details={"tool": wanted, "known": sorted(known)},
            hint=f"its tools are {', '.join(sorted(known))}"
            if known
            else "list it in the agent's `tools`, or pass the tool itself",
        )
    return known[wanted]


def use(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
    """Calls a tool and waits for what it returns, for an asynchronous one too.

    Raises:
        RunTimeout: it took longer than it may (``tool_timeout``).
    """
    if not tool.is_async and tool.timeout is None:
        value = tool.call(arguments, context)
        return run_blocking(value) if inspect.isawaitable(value) else value
    if tool.is_async:
        return run_blocking(
            tool.call(arguments, context), timeout=tool.timeout, late=lambda: _late(tool)
        )
    with_variables = copy_context().run
    pool = ThreadPoolExecutor(1, "antiphon-tool")
    try:
        return pool.submit(with_variables, tool.call, arguments, context).result(tool.timeout)
    except FutureTimeoutError:
        raise _late(tool) from None
    finally:
        # A call that is stuck keeps its thread, not the caller.
        pool.shutdown(wait=False)


async def use_async(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
    """`use` on the caller's event loop; a blocking tool runs on a thread.

    Raises:
        RunTimeout: it took longer than it may (``tool_timeout``).
    """
    import asyncio

    if tool.is_async:
        waiting = tool.call(arguments, context)
    else:
        waiting = asyncio.to_thread(tool.call, arguments, context)
    try:
        async with asyncio.timeout(tool.timeout):
            value = await waiting
            return await value if inspect.isawaitable(value) else value
    except TimeoutError:
        raise _late(tool) from None


def _late(tool: Tool) -> RunTimeout:
    return RunTimeout(
        f"tool `{tool.name}` took longer than its time-out in seconds: {tool.timeout}",
        code="tool_timeout",
        details={"tool": tool.name},
    )


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call that may be made.

    Attributes:
        arguments: by name.
        known: what came of it, if it was made before the node began again.
    """

    arguments: dict[str, Any]
    known: Effect | None = None


class Approving:
    """A call that a node is about to make, and whoever has to approve of it.

    Args:
        ctx: of the node.
        asking: where the node finds what a person has decided.
        tool: what is to be called.
        arguments: by name.
        call_id: what the call is known by. Default: a key that is the same each time.
    """

    def __init__(
        self,
        ctx: Context,
        asking: HumanInput,
        tool: Tool,
        arguments: dict[str, Any],
        call_id: str | None = None,
    ) -> None:
        self._ctx, self._asking = ctx, asking
        self._tool, self._arguments, self._call_id = tool, arguments, call_id

    def approved(self) -> ApprovedCall:
        """What the call is made with, once it is approved: the values that were shown.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``) or has no JSON form
                (``argument_unshowable``), and nobody was asked.
            ToolError: it is not approved (``tool_refused``); or it was, and nobody knows what
                came of it (``unknown_outcome``).
            Interrupted: a person has to approve of it, and has not been asked.
        """
        if self._tool.approval is False:
            return ApprovedCall(self._arguments)
        self._freeze()
        approve = approver(self._tool)
        if approve is None:
            about = self._step(), self._proposal(), self._known
            return self._by_person(*self._asking.decided(*about))
        made: list[Effect] = []
        # What was decided is known when the node begins again.
        decision = perform(
            self._ctx,
            self._step(),
            lambda key: self._is_made(made) or decide_call(approve, self._call(key)),
        )
        enforce(self._tool.name, decision)
        return ApprovedCall(self._arguments, made[0] if made else None)

    async def approved_async(self) -> ApprovedCall:
        """`approved`, awaited."""
        if self._tool.approval is False:
            return ApprovedCall(self._arguments)
        self._freeze()
        approve = approver(self._tool)
        if approve is None:
            about = self._step(), self._proposal(), self._known
            return self._by_person(*await self._asking.decided_async(*about))
        made: list[Effect] = []

        async def decide(key: str) -> bool | str:
            return self._is_made(made) or await decide_call_async(approve, self._call(key))

        enforce(self._tool.name, await perform_async(self._ctx, self._step(), decide))
        return ApprovedCall(self._arguments, made[0] if made else None)

    def _freeze(self) -> None:
        """From now on the arguments are JSON of this object's own.

        A caller that changes its list, or an approver its dict, changes no call.
        """
        self._tool.check(self._arguments)
        self._arguments = json_arguments(self._tool, self._arguments)
        # What is called is the JSON, which has to fit as well.
        self._tool.check(self._arguments)

    def _by_person(self, decided: Decided, made: Effect | None) -> ApprovedCall:
        approved, changed, reason = decided
        if not approved:
            raise refused(self._tool.name, reason)
        return ApprovedCall(self._arguments if changed is None else changed, made)

    def _is_made(self, made: list[Effect]) -> bool:
        """Whether the call was made before, and so approved; `made` gets it.

        A failed run forgets who approved of what, but not what came of it.
        """
        found = self._look_up(self._arguments)
        made += [] if found is None else [found]
        return found is not None

    def _look_up(self, arguments: dict[str, Any]) -> Effect | None:
        call = call_of(self._tool, arguments)
        # What may be repeated is forgotten when a run fails.
        return None if call.repeatable else look_up(self._ctx, call)

    def _known(self, decided: Decided) -> Effect | None:
        """The call as a person has decided about it, if it was made."""
        approved, changed, _ = decided
        return self._look_up(self._arguments if changed is None else changed) if approved else None

    def _proposal(self) -> Proposal:
        return Proposal(self._tool.name, self._arguments, self._tool.parameters)

    def _call(self, key: str) -> ToolCall:
        # The function's own copy: what it changes is called by nobody.
        arguments = copy.deepcopy(self._arguments)
        return ToolCall(name=self._tool.name, arguments=arguments, call_id=self._call_id or key)

    def _step(self) -> Call:
        # In its name, since what steps are given tells them apart on threads alone.
        text = json.dumps(self._arguments, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = f"approve {self._tool.name} {digest}"
        # What it looks up is a call beside it.
        return Call("step", name, self._arguments, repeatable=True, is_scope=False)
