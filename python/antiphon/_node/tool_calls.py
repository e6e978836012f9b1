"""Calls of tools by a node, and their approval."""

from __future__ import annotations

import copy
import hashlib
import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from antiphon._antiphon import Proposal
from antiphon._node.calls import Call, call_of, known_call, perform
from antiphon._node.human_input import ask
from antiphon._sync_async import Operation, Routine
from antiphon._tool.approval import (
    ToolCall,
    approver,
    decide,
    enforce,
    json_arguments,
    refused,
)
from antiphon._tool.lifespan import resource_of
from antiphon._tool.timed_call import acall_tool, call_tool
from antiphon.errors import ValidationError
from antiphon.tools import Tool, ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from antiphon._antiphon import Context, Effect
    from antiphon._node.human_input import Decided, HumanInput


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
            f"agent `{agent}` does not have the tool: {wanted}",
            code="tool_unknown",
            details={"tool": wanted, "known": sorted(known)},
            hint=f"its tools are {', '.join(sorted(known))}"
            if known
            else "list it in the agent's `tools`, or pass the tool itself",
        )
    return known[wanted]


def perform_tool_call(
    ctx: Context,
    human_input: HumanInput,
    tool: Tool,
    arguments: dict[str, Any],
    *,
    call_id: str | None = None,
    count: Callable[[], object] = bool,
    caller: Mapping[str, Any] | None = None,
) -> Routine[Any]:
    """Makes a node's call of a tool once it is approved, or returns the recorded result.

    Args:
        ctx: the context of the node.
        human_input: the questions of the node.
        tool: the tool.
        arguments: by name.
        call_id: the id of the call. Default: its idempotency key.
        count: counts the call, and raises if the tool has no call left.
        caller: fields of the `ToolContext` that say who calls. Default: a node of a graph.
    """
    call = yield from _Approval(ctx, human_input, tool, arguments, call_id).approved()

    def effect(key: str) -> Routine[Any]:
        context = tool_context(ctx, tool, (key, call_id or key), caller)
        return (
            yield Operation(
                lambda: call_tool(tool, call.arguments, context),
                lambda: acall_tool(tool, call.arguments, context),
            )
        )

    with human_input.making():
        count()
        return (yield from perform(ctx, call_of(tool, call.arguments), effect, call.known))


def tool_context(
    ctx: Context, tool: Tool, call: tuple[str, str], caller: Mapping[str, Any] | None = None
) -> ToolContext[Any]:
    """The context of a call of a tool within a node: its idempotency key and id."""
    key, call_id = call
    at = ctx.deadline
    about = caller
    if about is None:
        resource = resource_of(tool, ctx.run)
        about = {"context": ctx.context, "thread": ctx.run.thread, "resource": resource}
    return ToolContext(
        name=tool.name,
        call_id=call_id,
        idempotency_key=key,
        attempt=ctx.attempt,
        deadline=None if at is None else datetime.fromtimestamp(at, UTC),
        _ask=partial(ask, ctx),
        **about,
    )


class _ApprovedCall(NamedTuple):
    """The arguments of an approved call, and the call if it was made before."""

    arguments: dict[str, Any]
    known: Effect | None = None


class _Approval:
    """The approval of a call that a node is about to make."""

    def __init__(
        self,
        ctx: Context,
        human_input: HumanInput,
        tool: Tool,
        arguments: dict[str, Any],
        call_id: str | None,
    ) -> None:
        self._ctx, self._human_input = ctx, human_input
        self._tool, self._arguments, self._call_id = tool, arguments, call_id

    def approved(self) -> Routine[_ApprovedCall]:
        """The call with the arguments that were shown, once it is approved.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``) or has no JSON form
                (``argument_unshowable``), and nobody was asked.
            ToolError: it is refused (``tool_refused``); or it was approved, and its outcome is
                unknown (``unknown_outcome``).
            Interrupted: a person has to approve it.
        """
        if self._tool.approval is False:
            return _ApprovedCall(self._arguments)
        self._freeze()
        approve = approver(self._tool)
        if approve is None:
            about = self._step(), self._proposal(), self._known
            return self._by_person(*(yield from self._human_input.decided(*about)))
        made: list[Effect] = []

        def decision(key: str) -> Routine[bool | str]:
            return self._is_made(made) or (yield from decide(approve, self._call(key)))

        # The decision is recorded for when the node starts again.
        enforce(self._tool.name, (yield from perform(self._ctx, self._step(), decision)))
        return _ApprovedCall(self._arguments, made[0] if made else None)

    def _freeze(self) -> None:
        """Copies the arguments as JSON: later changes by the caller or approver have no effect."""
        self._tool.check(self._arguments)
        self._arguments = json_arguments(self._tool, self._arguments)
        # The tool is called with the JSON, which has to fit as well.
        self._tool.check(self._arguments)

    def _by_person(self, decided: Decided, made: Effect | None) -> _ApprovedCall:
        approved, changed, reason = decided
        if not approved:
            raise refused(self._tool.name, reason)
        return _ApprovedCall(self._arguments if changed is None else changed, made)

    def _is_made(self, made: list[Effect]) -> bool:
        """Whether the call was made before, and so approved; `made` gets it.

        A failed run forgets approvals, but not the results of calls.
        """
        found = self._find(self._arguments)
        made += [] if found is None else [found]
        return found is not None

    def _find(self, arguments: dict[str, Any]) -> Effect | None:
        call = call_of(self._tool, arguments)
        # A failed run forgets repeatable calls.
        return None if call.repeatable else known_call(self._ctx, call)

    def _known(self, decided: Decided) -> Effect | None:
        """The call with the arguments that a person approved, if it was made."""
        approved, changed, _ = decided
        return self._find(self._arguments if changed is None else changed) if approved else None

    def _proposal(self) -> Proposal:
        return Proposal(self._tool.name, self._arguments, self._tool.parameters)

    def _call(self, key: str) -> ToolCall:
        # A copy: changes by the function have no effect.
        arguments = copy.deepcopy(self._arguments)
        return ToolCall(name=self._tool.name, arguments=arguments, call_id=self._call_id or key)

    def _step(self) -> Call:
        # In the name, because arguments tell steps apart on threads only.
        text = json.dumps(self._arguments, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = f"approve {self._tool.name} {digest}"
        # The call that it finds stands beside it.
        return Call("step", name, self._arguments, repeatable=True, is_scope=False)
