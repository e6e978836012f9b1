"""A result as static HTML, and as plain text: no script, no font, no network."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._encode import encode_or

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.event import Event
    from antiphon.result import Result

_LONGEST = 20_000
"""Characters of a value that are shown."""
_ROWS = 200
"""Rows of the trace that are shown."""
COLOURS = {"answered": "#1a7f37", "paused": "#9a6700", "error": "#cf222e"}
_HIDDEN = {"edge_taken", "state_updated", "chunk", "run_started", "run_finished", "node_started"}
BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
CELL = 'style="text-align:left;padding:1px 10px 1px 0;vertical-align:top"'


def text(result: Result) -> str:
    """The result in a few lines."""
    lines = [f"{result.team}: {result.outcome}{_detail(result)}"]
    if result.answer is not None:
        lines.append(shown(result.answer))
    lines += [f"? {question.agent}: {shown(question.value)}" for question in result.questions]
    lines += [f"! {error['agent']}: {error['message']}" for error in result.errors]
    return "\n".join(lines)


def html(result: Result) -> str:
    """The result as one self-contained element; all that comes from outside is escaped."""
    colour = COLOURS.get(result.outcome, "#57606a")
    told = f"{result.outcome}{escape(_detail(result))}"
    parts = [
        f'<div style="{BOX}">',
        f'<div><b>{escape(result.team)}</b> <span style="color:{colour}">{told}</span></div>',
        *_answer(result),
        *_asked(result),
        *_failed(result),
        _usage(result),
        *_trace(result),
        "</div>",
    ]
    return "".join(parts)


def _answer(result: Result) -> Iterator[str]:
    if result.answer is not None:
        yield f'<div style="white-space:pre-wrap;margin:8px 0">{safe(result.answer)}</div>'


def _asked(result: Result) -> Iterator[str]:
    for question in result.questions:
        yield f"<div><b>{escape(question.agent)} asks:</b> {safe(question.value)}</div>"


def _failed(result: Result) -> Iterator[str]:
    for error in result.errors:
        yield (
            f'<div style="color:#cf222e"><b>{escape(error["agent"])}</b> '
            f"{safe(error['message'])}</div>"
        )


def _usage(result: Result) -> str:
    usage = result.usage
    told = (
        f"{usage.steps} steps, {usage.model_calls} model calls, {usage.tool_calls} tool calls, "
        f"{usage.input_tokens} + {usage.output_tokens} tokens, {usage.retries} retries"
    )
    return f'<div style="color:#57606a;font-size:12px">{told}</div>'


def _trace(result: Result) -> Iterator[str]:
    events = [event for event in result.events if event.kind not in _HIDDEN]
    if not events:
        return
    first = result.events[0].at
    yield f'<details><summary style="font-size:12px">{len(events)} events</summary>'
    yield '<table style="font-size:12px;border-collapse:collapse">'
    for event in events[:_ROWS]:
        after = (event.at - first).total_seconds()
        yield f"<tr><td {CELL}>{after:.3f}&nbsp;s</td>{_row(event)}</tr>"
    yield "</table>"
    if len(events) > _ROWS:
        yield f"<div>and {len(events) - _ROWS} more in <code>result.events</code></div>"
    yield "</details>"


def _row(event: Event) -> str:
    name = "" if event.name == event.agent else event.name
    data = json.dumps(event.data, ensure_ascii=False)
    cells = (" / ".join(event.path), event.kind, name, data[:300])
    return "".join(f"<td {CELL}>{escape(cell)}</td>" for cell in cells)


def _detail(result: Result) -> str:
    return f" ({result.detail})" if result.detail else ""


def safe(value: Any) -> str:
    """A value as text that is no markup."""
    return escape(shown(value))


def shown(value: Any) -> str:
    """A value as text, cut off where it is too long."""
    if not isinstance(value, str):
        plain = encode_or(value, f"<{type(value).__name__}>")
        value = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, indent=2)
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]} … ({len(value)} characters)"
