"""A run that serves a call: its progress, its questions and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import ToolError

if TYPE_CHECKING:
    from antiphon._antiphon import CallClient
    from antiphon.event import Event

_APPROVAL = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "description": "Whether the call is made."}},
    "required": ["approve"],
}
_SHOWN = ("node_started", "tool_call", "model_call")
"""Events that tell how far a run is."""


async def call_run(runner: Any, question: str, client: CallClient) -> Any:
    """Runs it, reports its steps, passes its questions on, and returns the answer.

    Raises:
        ToolError: a question was declined (``tool_failed``), or could not be asked
            (``mcp_client_silent``).
        Exception: as `RunResult.raise_for_outcome`.
    """
    progress = _Progress(client)
    result = await runner.arun(question, watch=progress)
    while result.outcome == "paused":
        answers = {}
        for one in result.questions:
            answers[one.id] = await _ask(client, one.value)
        result = await runner.aresume(result, answers, watch=progress)
    return result.raise_for_outcome().answer


async def _ask(client: CallClient, value: Any) -> Any:
    proposal = isinstance(value, dict) and "tool" in value
    text = f"May this tool be called? {value}" if proposal else str(value)
    answer = await client.ask(text, _APPROVAL if proposal else None)
    if proposal:
        return bool(answer and answer.get("approve"))
    if answer is None:
        raise ToolError(f"a question was declined: {value}", code="tool_failed")
    return answer["answer"] if set(answer) == {"answer"} else answer


class _Progress:
    """Counts the steps of a run for its client."""

    def __init__(self, client: CallClient) -> None:
        self._client = client
        self._steps = 0

    def __call__(self, event: Event) -> None:
        if event.kind in _SHOWN:
            self._steps += 1
            self._client.report(self._steps, None, str(event))
