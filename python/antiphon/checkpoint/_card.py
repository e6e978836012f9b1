"""Checkpoints and differences as static HTML, and as plain text: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from antiphon._team.card import BOX, CELL, COLOURS, safe, shown
from antiphon.checkpoint._checkpoint import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from antiphon.checkpoint._checkpoint import Checkpoint
    from antiphon.checkpoint._difference import Change, Difference

_SMALL = "color:#57606a;font-size:12px"


def text(checkpoint: Checkpoint) -> str:
    """A checkpoint in a few lines."""
    lines = [_told(checkpoint)]
    lines += [f"{key}: {shown(value)}" for key, value in fields_of(checkpoint.state).items()]
    lines += [f"? {question.agent}: {shown(question.value)}" for question in checkpoint.questions]
    return "\n".join(lines)


def html(checkpoint: Checkpoint) -> str:
    """A checkpoint as one self-contained element; all that comes from outside is escaped."""
    colour = COLOURS.get(checkpoint.outcome or "", "#57606a")
    asked = "".join(
        f"<div><b>{escape(question.agent)} asks:</b> {safe(question.value)}</div>"
        for question in checkpoint.questions
    )
    rows = ((key, safe(value)) for key, value in fields_of(checkpoint.state).items())
    told = f'<div style="color:{colour}">{escape(_told(checkpoint))}</div>'
    return f'<div style="{BOX}">{told}{asked}{_table(rows)}</div>'


def difference_text(difference: Difference) -> str:
    """A difference, a line for each key."""
    lines = [_between(difference)]
    for key, change in difference.changes.items():
        lines += [f"{sign} {key}: {value}" for sign, value in _parts(change)]
    return "\n".join(lines)


def difference_html(difference: Difference) -> str:
    """A difference as one self-contained element; all that comes from outside is escaped."""
    rows = (
        (f"{sign} {key}", escape(value))
        for key, change in difference.changes.items()
        for sign, value in _parts(change)
    )
    told = f'<div style="{_SMALL}">{escape(_between(difference))}</div>'
    return f'<div style="{BOX}">{told}{_table(rows)}</div>'


def _told(checkpoint: Checkpoint) -> str:
    said = [f"{checkpoint.thread}, checkpoint {checkpoint.id}, step {checkpoint.step}"]
    if checkpoint.wrote:
        said.append(f"written by {', '.join(checkpoint.wrote)}")
    if checkpoint.next:
        said.append(f"next {', '.join(checkpoint.next)}")
    if checkpoint.outcome:
        detail = f" ({checkpoint.detail})" if checkpoint.detail else ""
        said.append(f"{checkpoint.outcome}{detail}")
    return "; ".join(said)


def _between(difference: Difference) -> str:
    said = f"{difference.thread}, from checkpoint {difference.before} to {difference.after}"
    return said if difference else f"{said}: nothing changed"


def _parts(change: Change) -> Iterator[tuple[str, str]]:
    """What goes and what comes, each with its sign."""
    if change.kind == "appended":
        yield from (("+", shown(item)) for item in change.items)
        return
    if change.kind != "added":
        yield "-", shown(change.before)
    if change.kind != "removed":
        yield "+", shown(change.after)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a name, which is escaped here, and of a value, which is already."""
    cells = "".join(
        f"<tr><td {CELL}><b>{escape(name)}</b></td><td {CELL}>{value}</td></tr>"
        for name, value in rows
    )
    return f'<table style="font-size:13px;white-space:pre-wrap">{cells}</table>' if cells else ""
