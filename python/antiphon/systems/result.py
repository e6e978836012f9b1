"""What came of a question."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._faults import from_fault
from antiphon.errors import AntiphonError, BudgetError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._faults import FaultRecord
    from antiphon.event import Event

__all__ = ["ReviewLoopOutcome", "ReviewLoopResult"]

ReviewLoopOutcome = Literal["answered", "retry_limit", "error", "budget", "cancelled"]
"""How a question ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLoopResult:
    """What came of a question that was put to a review loop.

    Attributes:
        final_answer: the answer, or ``The question could not be answered.``
        final_reasoning_trace: how it was reached, or the same sentence.
        outcome: ``answered``; ``retry_limit``, too much was rejected; ``error``, something
            failed that trying again does not mend; ``budget``, rounds or time are spent;
            or ``cancelled``.
        retry_count: rejections, and errors that were counted like one.
        retries_by_agent: the same by whose work it was.
        error: what it failed with; after ``retry_limit`` what failed last, if anything did.
        error_component: the step at which it ended without an answer.
        models: the names of the models behind the roles, each once.
        usage: tokens of all models: ``input_tokens``, ``output_tokens``, and others where the
            provider counts them.
        trace: what happened, in order; at most 10,000 events, pieces of replies left out.
        trace_dropped: how many events came after those.
        state: everything known of the question, also when it was given up.
        run_id: names the run in its events; a question that goes on keeps it.
        thread: where the question is kept; none if it is not.
    """

    final_answer: str
    final_reasoning_trace: str
    outcome: ReviewLoopOutcome
    retry_count: int
    retries_by_agent: dict[str, int]
    error: AntiphonError | None
    error_component: str | None
    models: tuple[str, ...]
    usage: dict[str, int]
    trace: tuple[Event, ...]
    trace_dropped: int
    state: dict[str, Any]
    run_id: str
    thread: str | None = None

    @property
    def answer(self) -> str:
        """The same as `final_answer`."""
        return self.final_answer

    @property
    def caveat(self) -> str | None:
        """What to know before trusting the answer: that a model behind it is a small one."""
        from antiphon._model.default_model import caveat

        return caveat(self.models)

    @classmethod
    def of(cls, native: Mapping[str, Any], thread: str | None = None) -> Self:
        """The result as the engine has it, in Python's own types."""
        given = {field.name: native[field.name] for field in fields(cls) if field.name in native}
        given["thread"] = thread
        fault = given["error"]
        given["error"] = None if fault is None else _error(fault, native["raised"])
        given["models"] = tuple(given["models"])
        given["trace"] = tuple(given["trace"])
        return cls(**given)

    def raise_for_outcome(self) -> Self:
        """The result itself, if the question was answered.

        Raises:
            AntiphonError: what the question failed with.
            BudgetError: it was given up at a limit (``question_unanswered``).
            RunCancelled: it was cancelled (``run_cancelled``).
        """
        if self.outcome == "answered":
            return self
        if self.outcome == "cancelled":
            raise RunCancelled(
                f"the question was cancelled at the step: {self.error_component}",
                code="run_cancelled",
            )
        if self.outcome == "error" and self.error is not None:
            raise self.error
        raise BudgetError(
            f"the question was given up at the step `{self.error_component}`: {self.outcome}",
            code="question_unanswered",
            details={"outcome": self.outcome, "component": self.error_component},
            hint="look at the verdicts in `result.trace`; a higher `retry_limit`, another model "
            "or tools for the researcher may help",
        ) from self.error

    def to_dict(self, *, trace: bool = True) -> dict[str, Any]:
        """All of it as JSON values.

        Args:
            trace: whether the events are in it.
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["error"] = None if self.error is None else _fault(self.error)
        plain["models"] = list(self.models)
        plain["caveat"] = self.caveat
        plain["trace"] = [event.to_dict() for event in self.trace]
        if not trace:
            del plain["trace"]
        return plain

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: all on one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __repr__(self) -> str:
        return f"ReviewLoopResult(outcome={self.outcome!r}, answer={self.answer!r})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon.systems._card import html, text

        return {"text/plain": text(self), "text/html": html(self)}


def _error(fault: FaultRecord, raised: BaseException | None) -> AntiphonError:
    """What the question failed with, and behind it what the code of a role raised."""
    if isinstance(raised, AntiphonError):
        return raised
    error = from_fault(fault)
    error.__cause__ = raised
    return error


def _fault(error: AntiphonError) -> dict[str, Any]:
    return {"category": error.category, "code": error.code, "message": error.message}
