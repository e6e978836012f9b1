"""What a ready system returns for a question."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._faults import from_fault
from antiphon.errors import AntiphonError, BudgetError, RunCancelled, StateError
from antiphon.result import Question

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

    from antiphon._antiphon import PausedRun
    from antiphon._faults import FaultRecord
    from antiphon.event import Event
    from antiphon.trace import Trace

__all__ = ["PlainResult", "SystemOutcome", "SystemResult", "fault_of"]

SystemOutcome = Literal[
    "answered", "no_answer", "paused", "failed", "retry_limit", "error", "budget", "cancelled"
]
"""How a question ended."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SystemResult:
    """What a ready system returns for a question; each system adds fields.

    Attributes:
        outcome: ``answered``; ``no_answer``, it cannot be answered from what is known, see
            `reason`; ``paused``, see `questions`; ``failed``, no attempt had a result;
            ``retry_limit``, too many rejections; ``error``, an error that a retry cannot solve;
            ``budget``, a limit was reached; or ``cancelled``.
        reason: why there is no answer, if the outcome is ``no_answer``; else ``None``.
        questions: the open questions to a person.
        error: the exception; ``None`` without one.
        models: the names of the models of the roles, without duplicates.
        usage: tokens of all models: ``input_tokens``, ``output_tokens``, and others that the
            provider reports.
        events: the first 10,000 events, in order, without pieces of replies.
        events_dropped: the number of further events.
        run_id: the run's id; a resumed question keeps it.
        thread: the thread that stores the question; ``None`` without one.
    """

    outcome: SystemOutcome
    reason: str | None = None
    questions: tuple[Question, ...] = ()
    error: AntiphonError | None = None
    models: tuple[str, ...] = ()
    usage: dict[str, int]
    events: tuple[Event, ...] = ()
    events_dropped: int = 0
    run_id: str
    thread: str | None = None
    _paused: PausedRun | None = field(default=None, compare=False)
    """The run itself, if it waits for answers and no thread keeps it."""

    @property
    def answer(self) -> str:
        """The answer in words; empty if there is none."""
        return ""

    @property
    def caveat(self) -> str | None:
        """A warning if a small model has answered; else ``None``."""
        from antiphon._model.default_model import caveat

        return caveat(self.models)

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        given = {one.name: native[one.name] for one in _public(cls) if one.name in native}
        fault = given["error"]
        given["error"] = None if fault is None else _error(fault, native["raised"])
        given["questions"] = tuple(map(_question, given["questions"]))
        given["models"] = tuple(given["models"])
        given["events"] = tuple(given["events"])
        return cls(**given, _paused=native["paused"])

    def raise_for_outcome(self) -> Self:
        """The result itself, if the question was answered.

        Raises:
            AntiphonError: the error of the question.
            StateError: the question is waiting for an answer, or has none
                (``question_unanswered``).
            BudgetError: the question reached a limit (``question_unanswered``).
            RunCancelled: the question was cancelled (``run_cancelled``).
        """
        if self.outcome == "answered":
            return self
        if self.outcome == "cancelled":
            raise RunCancelled(f"the question was cancelled{self._where()}", code="run_cancelled")
        if self.outcome == "paused":
            asked = self.questions[0].value if self.questions else ""
            raise StateError(
                f"the question is waiting for an answer to: {asked}",
                code="question_unanswered",
                details={"outcome": self.outcome},
                hint="`system.resume(result, answer)`",
            )
        if self.outcome == "no_answer":
            raise StateError(
                f"the question has no answer: {self.reason}",
                code="question_unanswered",
                details=self._details(),
                hint="ask for what is known, or give what is missing",
            )
        failure = self._failure()
        if failure is not None:
            raise failure
        raise BudgetError(
            f"the question was not answered{self._where()}: {self.outcome}",
            code="question_unanswered",
            details=self._details(),
            hint=self._spent() or self._hint(),
        ) from self.error

    @property
    def trace(self) -> Trace:
        """What models were asked and replied, and what tools returned, as a tree."""
        from antiphon.trace import Trace

        return Trace.of(self.events, self._system(), calls_only=True)

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The result as JSON values.

        Args:
            events: whether to include the events. Default: no, because they hold all that models
                and tools said.
        """
        plain = {one.name: getattr(self, one.name) for one in _public(self)}
        plain["error"] = None if self.error is None else fault_of(self.error)
        plain["questions"] = [
            {"id": one.id, "agent": one.agent, "value": one.value} for one in self.questions
        ]
        plain["models"] = list(self.models)
        plain["caveat"] = self.caveat
        del plain["events"]
        if events:
            plain["events"] = [event.to_dict() for event in self.events]
        return plain

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def record(self) -> dict[str, Any]:
        """The result as a line of `System.batch_file`."""
        fields = self.to_dict()
        del fields["events_dropped"]
        return {"model_answer": self.answer, **fields}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(outcome={self.outcome!r}, answer={self.answer!r})"

    def _failure(self) -> AntiphonError | None:
        """The error that ended it, if one did."""
        return self.error if self.outcome in {"error", "failed"} else None

    def _spent(self) -> str | None:
        """What raises the limit that was reached, if the budget is spent."""
        error = self.error
        if self.outcome != "budget" or error is None:
            return None
        return error.hint if error.hint and error.hint.startswith("raise ") else None

    def _system(self) -> str:
        """The name of the system."""
        from antiphon._text import snake_case

        return snake_case(type(self).__name__.removesuffix("Result"))

    def _where(self) -> str:
        return ""

    def _details(self) -> dict[str, Any]:
        return {"outcome": self.outcome}

    def _hint(self) -> str:
        return "a higher limit may help"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlainResult(SystemResult):
    """The result of a system that defines no result class.

    Attributes:
        output: the system's own fields.
    """

    output: dict[str, Any]

    @property
    def answer(self) -> str:
        """The ``answer`` of the output, if there is one."""
        return str(self.output.get("answer", ""))

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        known = {one.name for one in fields(SystemResult)} | {"raised", "paused"}
        output = {name: value for name, value in native.items() if name not in known}
        return super(PlainResult, cls).of({**native, "output": output})


def _public(result: SystemResult | type[SystemResult]) -> list[Field[Any]]:
    return [one for one in fields(result) if not one.name.startswith("_")]


def fault_of(error: AntiphonError) -> dict[str, Any]:
    """An error as JSON values."""
    return {"category": error.category, "code": error.code, "message": error.message}


def _question(native: Mapping[str, Any]) -> Question:
    return Question(native["id"], native["path"][-1], native["value"])


def _error(fault: FaultRecord, raised: BaseException | None) -> AntiphonError:
    """What the question failed with, caused by the exception of a role's code."""
    if isinstance(raised, AntiphonError):
        return raised
    error = from_fault(fault)
    error.__cause__ = raised
    return error
