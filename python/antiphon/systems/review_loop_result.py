"""What a review loop returns for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from antiphon._html import CELL, WARNING, escaped, rendered
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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReviewLoopResult(SystemResult):
    """What a review loop returns for a question, beside the fields of `SystemResult`.

    Attributes:
        final_answer: the answer, or ``The question could not be answered.``
        final_reasoning_trace: how it was reached, or the same sentence.
        retry_count: the number of rejections and counted errors.
        retries_by_agent: the same by agent.
        error_component: the step at which the question ended without an answer.
    """

    final_answer: str
    final_reasoning_trace: str
    retry_count: int
    retries_by_agent: dict[str, int]
    error_component: str | None

    @property
    def answer(self) -> str | None:
        """The `final_answer`, if the question was answered; else ``None``."""
        return self.final_answer if self.outcome == "answered" else None

    @property
    def explanation(self) -> str | None:
        """The `final_answer`, if the question was not answered; else ``None``."""
        return None if self.outcome == "answered" else self.final_answer

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        error = native["state"].get("error")
        if error is not None:
            error.get("details", {}).pop("raised", None)  # it numbers exceptions of this question
        return super().of(native)

    def record(self) -> dict[str, Any]:
        """The result as a line of `ReviewLoop.batch_file`."""
        fields = super().record()
        del fields["model_answer"]
        answer, reasoning = fields.pop("final_answer"), fields.pop("final_reasoning_trace")
        return {"model_answer": answer, "reasoning_trace": reasoning, **fields}

    def _where(self) -> str:
        return f" at the step: {self.error_component}" if self.error_component else ""

    def _spent(self) -> str:
        return f"{super()._spent()}; retries: {self.retry_count}"

    def _limit(self) -> str:
        where = f" at the step `{self.error_component}`" if self.error_component else ""
        return f"{super()._limit()}{where}"

    def _limit_hint(self) -> str:
        if self.outcome == "budget":
            return super()._limit_hint()
        return (
            "look at the verdicts in `result.events`; a higher `retry_limit`, another model or "
            "tools for the researcher may help"
        )

    def _text_lines(self) -> Iterator[str]:
        if self.outcome == "answered":
            yield self.final_reasoning_trace
        if self.caveat is not None:
            yield self.caveat

    def _html_parts(self) -> Iterator[str]:
        if self.outcome == "answered":
            yield rendered(self.final_reasoning_trace)
        if self.caveat is not None:
            yield f'<div style="color:{WARNING}">{escaped(self.caveat)}</div>'
        yield from _steps(self)

    def _usage_line(self) -> str:
        return f"{', '.join(self.models)}: {super()._usage_line()}"


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
    return f"<td {CELL}>{escaped(event.name)}</td><td {CELL}>{escaped(pairs, _LONGEST)}</td>"
