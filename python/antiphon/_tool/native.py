"""A native tool as a tool: the engine calls it without Python, and code calls it like any other."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from antiphon._content import decode_tool_result
from antiphon._tool.gate import CircuitBreaker, note_circuit
from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import NativeTool, ToolGate
    from antiphon._schema import JsonSchema
    from antiphon._tool.approval import ToolCall
    from antiphon._tool.context import ToolContext
    from antiphon._tool.options import ToolOptions


def _answer(raised: StateError, context: ToolContext[Any] | None) -> Any:
    """The answer to a question with which a call has ended.

    Raises:
        StateError: it has ended otherwise.
        Interrupted: there is no answer yet.
    """
    if raised.code != "question_asked" or context is None:
        raise raised
    return context.ask(raised.details["question"])


class NativeBody:
    """A native tool, with the name and the time-out that its `Tool` gives it."""

    is_method = False
    is_async = False
    context_type: Any = None

    def __init__(self, handle: NativeTool) -> None:
        spec = handle.spec
        self.handle = self._ungated = handle
        self.function: Any = handle
        self.name = self.origin = str(spec["name"])
        self.description = str(spec["description"])
        self.parameters: JsonSchema = spec["parameters"]
        self.results: JsonSchema | None = spec.get("results")
        self.timeout: float | None = spec["timeout"]

    def apply(self, timeout: float | None, gate: ToolGate | None) -> None:
        """Sets the time-out of calls, and the gate that they pass."""
        self.timeout = timeout
        self.handle = self._ungated if gate is None else self._ungated.gated(gate)

    def options(self) -> ToolOptions:
        """The options with which the tool declares itself."""
        spec = self.handle.spec
        return {
            "timeout": spec["timeout"],
            "max_concurrency": spec["max_concurrency"],
            "breaker": CircuitBreaker(**spec["breaker"]) if spec["breaker"] else False,
            "max_calls": spec["max_calls"],
            "approval": self._decide if spec["approval"] == "host" else spec["approval"] != "none",
            "idempotent": spec["idempotent"],
            "cache": spec["cache"],
            "side_effect": spec["side_effect"],
            "max_result": spec["max_result"],
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Validates the arguments by the schema.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``).
        """
        self.handle.read(dict(arguments))

    def invoke(self, arguments: Mapping[str, Any], context: ToolContext[Any] | None) -> Any:
        """Validates the arguments, calls the tool and waits.

        Raises:
            ValidationError: as `check`.
            AntiphonError: the tool took too long (``tool_timeout``), or has failed.
        """
        about = self._about(context)
        while True:
            try:
                return decode_tool_result(self.handle.call(dict(arguments), **about))
            except StateError as raised:
                about["answers"].append(_answer(raised, context))

    async def ainvoke(self, arguments: Mapping[str, Any], context: ToolContext[Any] | None) -> Any:
        """`invoke` on the caller's event loop."""
        about = self._about(context)
        while True:
            try:
                return decode_tool_result(await self.handle.acall(dict(arguments), **about))
            except StateError as raised:
                about["answers"].append(_answer(raised, context))

    def _about(self, context: ToolContext[Any] | None) -> dict[str, Any]:
        limit = math.inf if self.timeout is None else self.timeout
        note = {} if self.handle is self._ungated else {"note": note_circuit(self.name)}
        if context is None:
            return {"timeout": limit, **note}
        if context.deadline is not None:
            left = (context.deadline - datetime.now(UTC)).total_seconds()
            limit = min(limit, max(left, 0.0))
        key, call_id = context.idempotency_key, context.call_id
        asking: dict[str, Any] = {"answers": []} if context.can_ask else {}
        return {"timeout": limit, "call_id": call_id, "idempotency_key": key, **note, **asking}

    def _decide(self, call: ToolCall) -> bool | str:
        decision: bool | str = self.handle.approve(dict(call.arguments))
        return decision
