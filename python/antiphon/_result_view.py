"""A result of a run as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._html import BAD, BOX, SMALL, colour_of, escaped, folded, preview, rendered
from antiphon._text import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """What a result shows.

    Attributes:
        title: what ran.
        outcome: how it ended.
        reason: why there is no answer.
        answer: the answer.
        questions: id, agent and value of each open question.
        failures: who failed, and how.
        resume: what resumes the run, as examples call it: ``team.resume``.
    """

    title: str
    outcome: str
    reason: str | None
    answer: Any
    questions: list[tuple[str, str, Any]]
    failures: list[tuple[str, str]]
    resume: str

    def text(self, more: Iterator[str]) -> str:
        """The result in a few lines, `more` after the answer."""
        lines = [f"{self.title}: {self._outcome()}"]
        lines += [preview(self.answer)] if self._is_answered() else []
        lines += more
        lines += [f"? {agent}: {preview(value)}" for _, agent, value in self.questions]
        lines += [f"answer with {self._how()}"] if self.questions else []
        lines += [f"! {agent}: {message}" for agent, message in self.failures]
        return escape_controls("\n".join(lines))

    def html(self, more: Iterator[str], usage: str, trace: str) -> str:
        """The result as one self-contained element.

        Args:
            more: elements after the answer.
            usage: what the run has spent.
            trace: an element; empty without one.
        """
        heading = f'<span style="color:{colour_of(self.outcome)}">{escape(self._outcome())}</span>'
        parts = [
            f'<div style="{BOX}"><div><b>{escape(self.title)}</b> {heading}</div>',
            rendered(self.answer) if self._is_answered() else "",
            *more,
            *self._questions(),
            *self._failures(),
            f'<div style="{SMALL}">{escape(usage)}</div>',
            folded("trace", trace) if trace else "",
            "</div>",
        ]
        return "".join(parts)

    def _outcome(self) -> str:
        return f"{self.outcome} ({self.reason})" if self.reason else self.outcome

    def _is_answered(self) -> bool:
        return self.answer is not None and not (isinstance(self.answer, str) and not self.answer)

    def _questions(self) -> Iterator[str]:
        for _, agent, value in self.questions:
            yield f"<div><b>{escape(agent)} asks:</b> {rendered(value)}</div>"
        if self.questions:
            how = f"<code>{escape(self._how())}</code>"
            yield f'<div style="{SMALL}">answer with {how}</div>'

    def _how(self) -> str:
        return f"{self.resume}(result, {self._example()})"

    def _example(self) -> str:
        if len(self.questions) == 1:
            return _answer_to(self.questions[0][2])
        pairs = (f"{key!r}: {_answer_to(value)}" for key, _, value in self.questions)
        return f"{{{', '.join(pairs)}}}"

    def _failures(self) -> Iterator[str]:
        for agent, message in self.failures:
            failure = f"<b>{escape(agent)}</b> {escaped(message)}"
            yield f'<div style="color:{BAD}">{failure}</div>'


def _answer_to(asked: Any) -> str:
    is_approval = isinstance(asked, dict) and asked.keys() >= {"tool", "arguments"}
    return '{"approve": True}' if is_approval else '"…"'
