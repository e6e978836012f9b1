"""What a ready system returns for a question."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from antiphon._faults import from_fault
from antiphon._html import plain
from antiphon.errors import AntiphonError
from antiphon.result import Question, RunResult, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from dataclasses import Field

    from antiphon._faults import FaultRecord
    from antiphon.trace import Trace

__all__ = ["PlainResult", "SystemResult", "fault_of"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SystemResult(RunResult):
    """What a ready system returns for a question, beside the fields of `RunResult`.

    Each system adds fields. The outcome is ``no_answer`` if the question cannot be answered from
    what is known, and ``retry_limit`` after too many rejections, or if no attempt had a result.

    Attributes:
        error: the exception that ended the question, or the last one before a limit.
        models: the names of the models of the roles, without duplicates. Of a team or a system in
            a role, those that have answered; after a resume, only since then.
    """

    error: AntiphonError | None = None
    models: tuple[str, ...] = ()
    _CALLED = "system"
    _IF_UNANSWERED = "ask for what is known, or give what is missing"

    @property
    def answer(self) -> str | None:
        """The answer in words; ``None`` without one."""
        return None

    @property
    def caveat(self) -> str | None:
        """A warning if a small model has answered; else ``None``."""
        from antiphon._model.default_model import caveat

        return caveat(self.models)

    @property
    def trace(self) -> Trace:
        """What models were asked and replied, and what tools returned, as a tree."""
        from antiphon.trace import Trace

        return Trace.of(self.events, self._name(), calls_only=True)

    @property
    def explanation(self) -> str | None:
        """What stands in place of an answer; ``None`` if there is an answer, or nothing to say."""
        return None

    def summary(self) -> Iterator[str]:
        """Lines: how it ended without an answer, what an answer relies on, what was spent."""
        if self.outcome != "answered":
            yield f"no answer ({self.outcome}){self._where()}"
        for question in self.questions:
            yield f"question of {question.agent}: {question.value}"
        if self.reason is not None:
            yield f"reason: {self.reason}"
        if self.outcome != "answered" and self.error is not None:
            yield f"error: {self.error.message}"
            if self.error.hint:
                yield f"hint: {self.error.hint}"
            yield f"code: {self.error.code}, see docs/errors"
        yield from self._basis()
        yield self._spent()

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        given = {one.name: native[one.name] for one in _public(cls) if one.name in native}
        fault = given["error"]
        error = given["error"] = None if fault is None else _error(fault, native["raised"])
        if given["outcome"] == "budget" and given["reason"] is None and error is not None:
            # An exception of a role's code has its details with it, and not in the engine.
            given["reason"] = error.details.get("dimension")
        given["questions"] = tuple(map(_question, given["questions"]))
        given["models"] = tuple(given["models"])
        given["usage"] = Usage(**given["usage"])
        return cls(**given, _recorded=tuple(native["events"]), _paused=native["paused"])

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The fields as JSON values, those of the system too; see `RunResult.to_dict`."""
        fields = super().to_dict(events=events)
        own = [one.name for one in _public(type(self)) if one.name not in fields]
        fields |= {name: plain(getattr(self, name)) for name in own}
        fields["error"] = None if self.error is None else fault_of(self.error)
        fields["caveat"] = self.caveat
        return fields

    def _where(self) -> str:
        """Where the question ended without an answer, if there is anything to say."""
        return ""

    def _spent(self) -> str:
        return f"tokens: {self.usage.input_tokens} read, {self.usage.output_tokens} written"

    def _basis(self) -> Iterator[str]:
        """Lines that say what the answer relies on, and what it lacks."""
        yield from ()

    def record(self) -> dict[str, Any]:
        """The result as a line of `System.batch_file`."""
        fields = self.to_dict()
        del fields["events_dropped"], fields["state"]
        return {"model_answer": fields.pop("answer"), **fields}

    def _limit_hint(self) -> str:
        raised = self.error.hint if self.error is not None else None
        is_named = self.outcome == "budget" and raised is not None and raised.startswith("raise ")
        return raised if is_named and raised is not None else "a higher limit may help"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PlainResult(SystemResult):
    """The result of a system that defines no result class.

    Attributes:
        output: the system's own fields.
    """

    output: dict[str, Any]

    @property
    def answer(self) -> str | None:
        """The ``answer`` of the output, if there is one."""
        answer = self.output.get("answer")
        return str(answer) if answer else None

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        known = {one.name for one in fields(SystemResult)} | {
            "attachments",
            "events",
            "raised",
            "paused",
        }
        output = {name: value for name, value in native.items() if name not in known}
        return super().of({**native, "output": output})


def _public(result: type[SystemResult]) -> list[Field[Any]]:
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
