"""A result as static HTML, and as plain text: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.event import Event
    from antiphon.systems.review_loop_result import ReviewLoopResult

_ROWS = 200
"""Verdicts and other steps that are shown."""
_LONGEST = 2_000
"""Characters of a text that are shown."""
_TOLD = {"plan_created", "verdict", "retry", "agent_error", "retry_limit_reached", "finalized"}
_BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
_CELL = 'style="text-align:left;padding:1px 10px 1px 0;vertical-align:top"'


def text(result: ReviewLoopResult) -> str:
    """The result in a few lines."""
    lines = [f"review loop: {result.outcome}", result.final_answer]
    if result.outcome == "answered":
        lines.append(result.final_reasoning_trace)
    if result.caveat is not None:
        lines.append(result.caveat)
    if result.error is not None:
        lines.append(f"! {result.error_component}: {result.error.message}")
    return "\n".join(lines)


def html(result: ReviewLoopResult) -> str:
    """The result as one self-contained element; all that comes from outside is escaped."""
    colour = "#1a7f37" if result.outcome == "answered" else "#cf222e"
    return "".join(
        [
            f'<div style="{_BOX}">',
            f'<div><b>review loop</b> <span style="color:{colour}">{result.outcome}</span></div>',
            f'<div style="white-space:pre-wrap;margin:8px 0">{_safe(result.final_answer)}</div>',
            *_reasons(result),
            *_doubts(result),
            _spent(result),
            *_steps(result),
            "</div>",
        ]
    )


def _reasons(result: ReviewLoopResult) -> Iterator[str]:
    if result.outcome == "answered":
        yield f'<div style="white-space:pre-wrap">{_safe(result.final_reasoning_trace)}</div>'
    if result.error is not None:
        where = escape(result.error_component or "")
        told = _safe(result.error.message)
        yield f'<div style="color:#cf222e"><b>{where}</b> {told}</div>'


def _doubts(result: ReviewLoopResult) -> Iterator[str]:
    if result.caveat is not None:
        yield f'<div style="color:#9a6700">{_safe(result.caveat)}</div>'


def _spent(result: ReviewLoopResult) -> str:
    usage = result.usage
    told = (
        f"{', '.join(result.models)}: {usage.get('input_tokens', 0)} + "
        f"{usage.get('output_tokens', 0)} tokens, {result.retry_count} retries"
    )
    return f'<div style="color:#57606a;font-size:12px">{escape(told)}</div>'


def _steps(result: ReviewLoopResult) -> Iterator[str]:
    told = [event for event in result.trace if event.kind == "custom" and event.name in _TOLD]
    if not told:
        return
    first = result.trace[0].at
    yield f'<details><summary style="font-size:12px">{len(told)} steps</summary>'
    yield '<table style="font-size:12px;border-collapse:collapse">'
    for event in told[:_ROWS]:
        after = (event.at - first).total_seconds()
        yield f"<tr><td {_CELL}>{after:.1f}&nbsp;s</td>{_row(event)}</tr>"
    yield "</table>"
    if len(told) > _ROWS:
        yield f"<div>and {len(told) - _ROWS} more in <code>result.trace</code></div>"
    yield "</details>"


def _row(event: Event) -> str:
    pairs = "; ".join(f"{key}: {value}" for key, value in event.data.items())
    return f"<td {_CELL}>{_safe(event.name)}</td><td {_CELL}>{_safe(pairs)}</td>"


def _safe(value: str) -> str:
    return escape(value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …")
