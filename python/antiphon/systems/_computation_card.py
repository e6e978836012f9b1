"""A computed answer as static HTML, and as plain text: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from antiphon._text import escape_controls
from antiphon.sandbox._faults import report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems.computation_result import ComputationAttempt, ComputationResult

_LONGEST = 4_000
"""Characters of a text that are shown."""
_BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
_PRE = "white-space:pre-wrap;margin:8px 0;font-family:ui-monospace,monospace;font-size:12px"


def text(result: ComputationResult) -> str:
    """The answer in a few lines, and the code behind it."""
    lines = [f"computation: {result.outcome}", escape_controls(result.answer)]
    lines += [f"- {escape_controls(fact)}" for fact in result.highlights]
    if result.outcome != "answered":
        lines += [f"! {escape_controls(told)}" for told in _failures(result)]
    lines += ["", escape_controls(result.python)] if result.python else []
    return "\n".join(lines)


def html(result: ComputationResult) -> str:
    """The answer as one self-contained element; all that comes from outside is escaped."""
    colour = "#1a7f37" if result.outcome == "answered" else "#cf222e"
    facts = "".join(f"<li>{_safe(fact)}</li>" for fact in result.highlights)
    return "".join(
        [
            f'<div style="{_BOX}">',
            f'<div><b>computation</b> <span style="color:{colour}">{result.outcome}</span></div>',
            f'<div style="white-space:pre-wrap;margin:8px 0">{_safe(result.answer)}</div>',
            f"<ul>{facts}</ul>" if facts else "",
            *(f'<div style="color:#cf222e">{_safe(told)}</div>' for told in _failures(result)),
            *_attempts(result),
            *_computed(result),
            "</div>",
        ]
    )


def _failures(result: ComputationResult) -> Iterator[str]:
    if result.error is not None:
        yield result.error.message
    elif result.outcome == "failed" and result.attempts:
        error = result.attempts[-1].error
        yield "" if error is None else error.message


def _attempts(result: ComputationResult) -> Iterator[str]:
    for place, attempt in enumerate(result.attempts, start=1):
        # The code that counts is open, so that nobody has to trust what was not read.
        shown = " open" if place == len(result.attempts) else ""
        yield f'<details{shown}><summary style="font-size:12px">code {place}</summary>'
        yield f'<div style="{_PRE}">{_safe(attempt.python)}</div>{_error(attempt)}</details>'


def _computed(result: ComputationResult) -> Iterator[str]:
    if result.computed is not None:
        yield result.computed._repr_mimebundle_()["text/html"]


def _error(attempt: ComputationAttempt) -> str:
    if attempt.error is None:
        return ""
    return f'<div style="{_PRE};color:#cf222e">{_safe(report(attempt.error))}</div>'


def _safe(value: str) -> str:
    return escape(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …")
