"""What came of a question that was computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._faults import from_fault
from antiphon.errors import AntiphonError, BudgetError, RunCancelled, SandboxError
from antiphon.sandbox._faults import sandbox_error
from antiphon.sandbox._outcome import result_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.event import Event
    from antiphon.sandbox import SandboxFigure, SandboxResult

__all__ = ["ComputationAttempt", "ComputationOutcome", "ComputationResult"]

ComputationOutcome = Literal["answered", "failed", "error", "budget", "cancelled"]
"""How a question ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationAttempt:
    """One piece of code that a model wrote.

    Attributes:
        reasoning: how the model wanted to get to the answer.
        python: the code.
        explain: what it does, in a sentence.
        error: what went wrong; none if it came to a result.
    """

    reasoning: str
    python: str
    explain: str
    error: SandboxError | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComputationResult:
    """What came of a question that was computed.

    Attributes:
        answer: in words; the result as text if no model put it into words; empty if there is
            none.
        highlights: further facts that the result shows.
        outcome: ``answered``; ``failed``, no code came to a result; ``error``, something failed
            that other code does not mend; ``budget``, time is spent; or ``cancelled``.
        is_summarised: whether a model put the result into words.
        attempts: all code, in order; the last came to the result, if there is one.
        computed: what the sandbox brought out: variables, tables, figures, output. It is the
            code's word.
        error: what ended it, or why no model put the result into words.
        usage: tokens: ``input_tokens``, ``output_tokens``, and others where the provider counts
            them.
        trace: what happened, in order; at most 10,000 events, pieces of replies left out.
        trace_dropped: how many events came after those.
        run_id: names the run in its events.
    """

    answer: str
    highlights: tuple[str, ...]
    outcome: ComputationOutcome
    is_summarised: bool
    attempts: tuple[ComputationAttempt, ...]
    computed: SandboxResult | None
    error: AntiphonError | None
    usage: dict[str, int]
    trace: tuple[Event, ...]
    trace_dropped: int
    run_id: str

    @property
    def python(self) -> str:
        """The code that was tried last; empty if there is none."""
        return self.attempts[-1].python if self.attempts else ""

    @property
    def value(self) -> Any:
        """What the code assigned to ``result``, else the value of its last expression."""
        if self.computed is None:
            return None
        return self.computed.locals.get("result", self.computed.value)

    @property
    def table(self) -> Any:
        """What the code assigned to ``table``: a `SandboxTable`, or a list of dicts."""
        return None if self.computed is None else self.computed.locals.get("table")

    @property
    def figures(self) -> tuple[SandboxFigure, ...]:
        """The figures that the code drew."""
        return () if self.computed is None else self.computed.figures

    @classmethod
    def of(cls, native: Mapping[str, Any], engine: str, isolation: str) -> Self:
        """The result as the engine has it, in Python's own types."""
        computed, fault = native["computed"], native["error"]
        if computed is not None:
            computed = result_of({**computed, "engine": engine, "isolation": isolation})
        return cls(
            answer=native["answer"],
            highlights=tuple(native["highlights"]),
            outcome=native["outcome"],
            is_summarised=native["is_summarised"],
            attempts=tuple(map(_attempt, native["attempts"])),
            computed=computed,
            error=None if fault is None else from_fault(fault),
            usage=native["usage"],
            trace=tuple(native["trace"]),
            trace_dropped=native["trace_dropped"],
            run_id=native["run_id"],
        )

    def raise_for_outcome(self) -> Self:
        """The result itself, if the question was answered.

        Raises:
            SandboxError: what the last piece of code failed with.
            AntiphonError: what ended the question.
            BudgetError: its time was spent (``question_unanswered``).
            RunCancelled: it was cancelled (``run_cancelled``).
        """
        if self.outcome == "answered":
            return self
        if self.outcome == "cancelled":
            raise RunCancelled("the computation was cancelled", code="run_cancelled")
        last = self.attempts[-1].error if self.attempts else None
        failed = last if self.outcome == "failed" else self.error
        if failed is not None:
            raise failed
        raise BudgetError(
            f"the computation was given up: {self.outcome}",
            code="question_unanswered",
            hint="a higher `question_timeout_s` may help",
        )

    def __repr__(self) -> str:
        return f"ComputationResult(outcome={self.outcome!r}, answer={self.answer!r})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.systems._computation_card import html, text

        return {"text/plain": text(self), "text/html": html(self)}


def _attempt(native: Mapping[str, Any]) -> ComputationAttempt:
    trouble = native["trouble"]
    return ComputationAttempt(
        reasoning=native["reasoning"],
        python=native["python"],
        explain=native["explain"],
        error=None if trouble is None else sandbox_error(trouble),
    )
