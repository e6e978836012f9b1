"""What a computation returns for a question."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

from antiphon._html import BAD, WARNING, escaped
from antiphon.sandbox.outcomes import report, result_of, sandbox_error
from antiphon.systems.result import SystemResult, fault_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.errors import SandboxError
    from antiphon.sandbox import SandboxFigure, SandboxResult

__all__ = ["ComputationAttempt", "ComputationResult", "ComputationSource", "RejectedWording"]

_LONGEST = 4_000
"""Characters of a text that are shown."""
_PRE = "white-space:pre-wrap;margin:8px 0;font-family:ui-monospace,monospace;font-size:12px"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationAttempt:
    """One piece of code that a model wrote.

    Attributes:
        reasoning: how the model wanted to get to the answer.
        python: the code.
        explain: what it does, in a sentence.
        error: what went wrong; none if it came to a result.
        no_answer: why its result answers nothing, such as a missing value; none if it can.
    """

    reasoning: str
    python: str
    explain: str
    error: SandboxError | None
    no_answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationSource:
    """An input whose columns the code reads, as far as its text tells.

    Attributes:
        name: the variable.
        rows: how many rows it has.
        columns: the columns that the code names, each with the number of its missing values;
            pandas usually skips those.
    """

    name: str
    rows: int
    columns: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedWording:
    """An answer in words that was not delivered.

    Attributes:
        answer: what the model wrote.
        differences: what it states beside the result, or leaves out, in a sentence each.
    """

    answer: str
    differences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ComputationResult(SystemResult):
    """What a computation returns for a question, beside the fields of `SystemResult`.

    Attributes:
        text: the answer in words; the plain value if no model put it into words, or none stated
            the value alone; empty if there is no answer.
        highlights: further facts that the result shows.
        is_summarised: whether a model put the result into words.
        rejected_wordings: answers in words that stated a number, a unit or a date that is not in
            the result, and were not delivered.
        sources: the columns that the last code reads.
        doubts: what speaks against relying on the answer, as far as code can tell: missing
            values, and columns that the question does not name.
        attempts: all code, in order; the last computed the result, if there is one.
        computed: what the sandbox returned: variables, tables, figures, output. Reported by the
            code; not verified.
    """

    text: str
    highlights: tuple[str, ...]
    is_summarised: bool
    rejected_wordings: tuple[RejectedWording, ...] = ()
    sources: tuple[ComputationSource, ...] = ()
    doubts: tuple[str, ...] = ()
    attempts: tuple[ComputationAttempt, ...]
    computed: SandboxResult | None

    @property
    def answer(self) -> str | None:
        """The `text`; ``None`` if there is no answer."""
        return self.text or None

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
    def of(cls, native: Mapping[str, Any]) -> Self:
        """The result as the engine has it, in Python's own types."""
        attempts = tuple(map(_attempt, native["attempts"]))
        computed = native["computed"]
        if computed is not None:
            sandbox_fields = {name: native[name] for name in ("engine", "isolation")}
            computed = result_of({**_outcome(computed), **sandbox_fields})
        result = super().of(
            {
                **native,
                "text": native["answer"],
                "highlights": tuple(native["highlights"]),
                "rejected_wordings": tuple(map(_rejected, native["rejected_wordings"])),
                "sources": tuple(map(_source, native["sources"])),
                "doubts": tuple(native["doubts"]),
                "attempts": attempts,
                "computed": computed,
            }
        )
        if result.outcome != "retry_limit" or result.error is not None or not attempts:
            return result
        return replace(result, error=attempts[-1].error)

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The result as JSON values; of the sandbox's result, only the output.

        Args:
            events: whether to include the events. Default: no.
        """
        plain = super().to_dict(events=events)
        del plain["text"]
        plain["highlights"] = list(self.highlights)
        plain["doubts"] = list(self.doubts)
        plain["rejected_wordings"] = [
            {"answer": one.answer, "differences": list(one.differences)}
            for one in self.rejected_wordings
        ]
        plain["sources"] = [
            {"name": one.name, "rows": one.rows, "columns": one.columns} for one in self.sources
        ]
        plain["attempts"] = [
            {
                "reasoning": one.reasoning,
                "python": one.python,
                "explain": one.explain,
                "error": None if one.error is None else fault_of(one.error),
                "no_answer": one.no_answer,
            }
            for one in self.attempts
        ]
        plain["computed"] = None if self.computed is None else {"stdout": self.computed.stdout}
        return plain

    def _limit_error(self) -> BaseException:
        is_failed = self.outcome == "retry_limit" and self.error is not None
        return cast("BaseException", self.error) if is_failed else super()._limit_error()

    def _limit_hint(self) -> str:
        hint = super()._limit_hint()
        return hint if hint.startswith("raise ") else "a higher `question_timeout_s` may help"

    def _text_lines(self) -> Iterator[str]:
        yield from (f"- {fact}" for fact in self.highlights)
        yield from (f"? {doubt}" for doubt in self.doubts)
        if self.python:
            yield from ("", self.python)

    def _html_parts(self) -> Iterator[str]:
        facts = "".join(f"<li>{escaped(fact)}</li>" for fact in self.highlights)
        yield f"<ul>{facts}</ul>" if facts else ""
        yield from (f'<div style="color:{WARNING}">{escaped(doubt)}</div>' for doubt in self.doubts)
        yield from _attempts(self)
        if self.computed is not None:
            yield self.computed._repr_mimebundle_()["text/html"]


def _attempt(native: Mapping[str, Any]) -> ComputationAttempt:
    fault = native["fault"]
    return ComputationAttempt(
        reasoning=native["reasoning"],
        python=native["python"],
        explain=native["explain"],
        error=None if fault is None else sandbox_error(fault),
        no_answer=native["no_answer"],
    )


def _rejected(native: Mapping[str, Any]) -> RejectedWording:
    return RejectedWording(answer=native["answer"], differences=tuple(native["differences"]))


def _source(native: Mapping[str, Any]) -> ComputationSource:
    columns = {one["name"]: one["missing"] for one in native["columns"]}
    return ComputationSource(name=native["name"], rows=native["rows"], columns=columns)


def _outcome(native: Mapping[str, Any]) -> dict[str, Any]:
    """What the sandbox returned, in the form of an engine's outcome."""
    outcome = {name: value for name, value in native.items() if value not in (None, [], {}, "")}
    outcome["tables"] = [(name, b64decode(data)) for name, data in native["tables"]]
    outcome["figures"] = list(map(b64decode, native["figures"]))
    return outcome


def _attempts(result: ComputationResult) -> Iterator[str]:
    for place, attempt in enumerate(result.attempts, start=1):
        # The code that counts is open, so that nobody has to trust what was not read.
        shown = " open" if place == len(result.attempts) else ""
        yield f'<details{shown}><summary style="font-size:12px">code {place}</summary>'
        yield f'<div style="{_PRE}">{escaped(attempt.python, _LONGEST)}</div>'
        yield f"{_error(attempt)}</details>"


def _error(attempt: ComputationAttempt) -> str:
    if attempt.error is None:
        return ""
    return f'<div style="{_PRE};color:{BAD}">{escaped(report(attempt.error), _LONGEST)}</div>'
