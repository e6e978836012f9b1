"""Approval of the calls that an agent or a node makes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Proposal
from antiphon._effect import Call, perform, perform_async
from antiphon._encode import encode_or
from antiphon._tool.approval import ToolCall, approver, heed, judge, judge_async, refused
from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Context
    from antiphon.tools import Tool

__all__ = ["Approving"]


class Approving:
    """A call that a node is about to make, and whoever has to approve of it.

    Args:
        ctx: of the node.
        ask: asks a person, and gives the answer.
        tool: what is to be called.
        arguments: by name.
        call_id: what the call is known by.
    """

    def __init__(
        self,
        ctx: Context,
        ask: Callable[[Any], Any],
        tool: Tool,
        arguments: dict[str, Any],
        call_id: str,
    ) -> None:
        self._ctx, self._ask = ctx, ask
        self._tool, self._arguments, self._call_id = tool, arguments, call_id

    def arguments(self) -> dict[str, Any]:
        """What the call is made with, once it is approved.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``), and nobody was asked.
            ToolError: it is not approved (``tool_refused``).
            StateError: the node began again and wants another call (``replay_diverged``).
        """
        approve = self._approver()
        if approve is None:
            return self._by_person()
        call = self._call()

        def decide(_key: str) -> dict[str, Any]:
            return {"decision": judge(approve, call), "of": dict(call.arguments)}

        # What was decided is known when the node begins again.
        return self._by(perform(self._ctx, self._step(), decide), call)

    async def arguments_async(self) -> dict[str, Any]:
        """`arguments`, awaited."""
        approve = self._approver()
        if approve is None:
            return self._by_person()
        call = self._call()

        async def decide(_key: str) -> dict[str, Any]:
            return {"decision": await judge_async(approve, call), "of": dict(call.arguments)}

        return self._by(await perform_async(self._ctx, self._step(), decide), call)

    def _approver(self) -> Any:
        if self._tool.approval is not False:
            self._tool.check(self._arguments)
        return approver(self._tool)

    def _by_person(self) -> dict[str, Any]:
        if self._tool.approval is False:
            return self._arguments
        proposal = Proposal(self._tool.name, self._shown(), self._tool.parameters)
        approved, changed, reason = proposal.recall(self._ask(proposal.question))
        if not approved:
            raise refused(self._tool.name, reason)
        return self._arguments if changed is None else changed

    def _by(self, made: dict[str, Any], call: ToolCall) -> dict[str, Any]:
        if made["of"] != call.arguments:
            raise StateError(
                "a node that was taken up again wants to call something else than was "
                f"approved, or not: {call.name}",
                code="replay_diverged",
                details={"tool": call.name},
                hint="let `ctx.step` give the node its times and random numbers",
            )
        heed(call.name, made["decision"])
        return self._arguments

    def _call(self) -> ToolCall:
        return ToolCall(name=self._tool.name, arguments=self._shown(), call_id=self._call_id)

    def _step(self) -> Call:
        return Call("step", f"approve {self._tool.name}", self._arguments, repeatable=True)

    def _shown(self) -> dict[str, Any]:
        """The arguments as JSON; what has no such form as its type's name."""
        return {
            name: encode_or(value, f"<{type(value).__name__}>")
            for name, value in self._arguments.items()
        }
