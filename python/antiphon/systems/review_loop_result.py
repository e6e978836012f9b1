"""What a review loop returns for a question."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Self

from antiphon._html import BOX, CELL
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.event import Event

__all__ = ["ReviewLoopResult"]

_ROWS = 200
"""Verdicts and other steps that are shown."""
_LONGEST = 2_000
"""Characters of a text that are shown."""
_SHOWN_EVENTS = {
    "plan_created",
    "verdict",
    "retry",
    "agent_error",
    "retry_limit_reached",
    "finalized",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReviewLoopResult(SystemResult):
    """What a review loop returns for a question, beside the fields of `SystemResult`.

    Attributes:
        final_answer: the answer, or ``The question could not be answered.``
        final_reasoning_trace: how it was reached, or the same sentence.
        retry_count: the number of rejections and counted errors.
        retries_by_agent: the same by agent.
        error_component: the step at which the question ended without an answer.
        state: the state at the end, for every outcome.
    """

    final_answer: str
    final_reasoning_trace: str
    retry_count: int
    retries_by_agent: dict[str, int]
    error_component: str | None
    state: dict[str, Any]

    @property
    def answer(self) -> str:
        """The same as `final_answer`."""
        return self.final_answer

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        error = native["state"].get("error")
        if error is not None:
            error.get("details", {}).pop("raised", None)  # it numbers exceptions of this question
        return super(ReviewLoopResult, cls).of(native)

    def record(self) -> dict[str, Any]:
        """The result as a line of `ReviewLoop.batch_file`."""
        fields = super(ReviewLoopResult, self).record()
        del fields["state"], fields["final_answer"]
        answer, reasoning = fields.pop("model_answer"), fields.pop("final_reasoning_trace")
        return {"model_answer": answer, "reasoning_trace": reasoning, **fields}

    def _where(self) -> str:
        return f" at the step `{self.error_component}`" if self.error_component else ""

    def _details(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "component": self.error_component}

    def _hint(self) -> str:
        return (
            "look at the verdicts in `result.events`; a higher `retry_limit`, another model or "
            "tools for the researcher may help"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": _text(self), "text/html": _html(self)}


def _text(result: ReviewLoopResult) -> str:
    """The result in a few lines."""
    lines = [f"review loop: {result.outcome}", result.final_answer]
    if result.outcome == "answered":
        lines.append(result.final_reasoning_trace)
    if result.reason is not None:
        lines.append(f"reason: {result.reason}")
    if result.caveat is not None:
        lines.append(result.caveat)
    if result.error is not None:
        lines.append(f"! {result.error_component}: {result.error.message}")
    return "\n".join(lines)


def _html(result: ReviewLoopResult) -> str:
    """The result as one self-contained element; all that comes from outside is escaped."""
    colour = "#1a7f37" if result.outcome == "answered" else "#cf222e"
    return "".join(
        [
            f'<div style="{BOX}">',
            f'<div><b>review loop</b> <span style="color:{colour}">{result.outcome}</span></div>',
            f'<div style="white-space:pre-wrap;margin:8px 0">{_safe(result.final_answer)}</div>',
            *_reasons(result),
            *_doubts(result),
            _usage(result),
            *_steps(result),
            "</div>",
        ]
    )


def _reasons(result: ReviewLoopResult) -> Iterator[str]:
    if result.outcome == "answered":
        yield f'<div style="white-space:pre-wrap">{_safe(result.final_reasoning_trace)}</div>'
    if result.reason is not None:
        yield f'<div style="white-space:pre-wrap">{_safe(result.reason)}</div>'
    if result.error is not None:
        where = escape(result.error_component or "")
        message = _safe(result.error.message)
        yield f'<div style="color:#cf222e"><b>{where}</b> {message}</div>'


def _doubts(result: ReviewLoopResult) -> Iterator[str]:
    if result.caveat is not None:
        yield f'<div style="color:#9a6700">{_safe(result.caveat)}</div>'


def _usage(result: ReviewLoopResult) -> str:
    usage = result.usage
    text = (
        f"{', '.join(result.models)}: {usage.get('input_tokens', 0)} + "
        f"{usage.get('output_tokens', 0)} tokens, {result.retry_count} retries"
    )
    return f'<div style="color:#57606a;font-size:12px">{escape(text)}</div>'


def _steps(result: ReviewLoopResult) -> Iterator[str]:
    steps = [
        event for event in result.events if event.kind == "custom" and event.name in _SHOWN_EVENTS
    ]
    if not steps:
        return
    first = result.events[0].at
    yield f'<details><summary style="font-size:12px">{len(steps)} steps</summary>'
    yield '<table style="font-size:12px;border-collapse:collapse">'
    for event in steps[:_ROWS]:
        after = (event.at - first).total_seconds()
        yield f"<tr><td {CELL}>{after:.1f}&nbsp;s</td>{_row(event)}</tr>"
    yield "</table>"
    if len(steps) > _ROWS:
        yield f"<div>and {len(steps) - _ROWS} more in <code>result.events</code></div>"
    yield "</details>"


def _row(event: Event) -> str:
    pairs = "; ".join(f"{key}: {value}" for key, value in event.data.items())
    return f"<td {CELL}>{_safe(event.name)}</td><td {CELL}>{_safe(pairs)}</td>"


def _safe(value: str) -> str:
    return escape(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …")
