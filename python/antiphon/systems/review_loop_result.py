"""What a review loop returns for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReviewLoopResult"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReviewLoopResult(SystemResult):
    """What a review loop returns for a question, beside the fields of `SystemResult`.

    Attributes:
        final_answer: the answer, or ``The question could not be answered.``
        final_reasoning_trace: how it was reached, or the same sentence.
        retry_count: the number of rejections and counted errors.
        retries_by_agent: the same by agent.
        error_component: the step at which the question ended without an answer.
        state: the state at the end, whatever the outcome.
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
        told = super(ReviewLoopResult, self).record()
        del told["state"], told["final_answer"]
        answer, reasoning = told.pop("model_answer"), told.pop("final_reasoning_trace")
        return {"model_answer": answer, "reasoning_trace": reasoning, **told}

    def _where(self) -> str:
        return f" at the step `{self.error_component}`" if self.error_component else ""

    def _unanswered(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "component": self.error_component}

    def _hint(self) -> str:
        return (
            "look at the verdicts in `result.trace`; a higher `retry_limit`, another model or "
            "tools for the researcher may help"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.systems._card import html, text

        return {"text/plain": text(self), "text/html": html(self)}
