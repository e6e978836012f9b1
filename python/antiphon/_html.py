"""Values as text and as static HTML for notebooks, without scripts, fonts or network."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._json_values import encode_or

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 20_000
"""Characters of a value that are displayed."""
_GREY = "#57606a"
_OUTCOMES = {"answered": "#1a7f37", "paused": "#9a6700", "error": "#cf222e"}
BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
CELL = 'style="text-align:left;padding:1px 10px 1px 0;vertical-align:top"'
SMALL = f"color:{_GREY};font-size:12px"


def colour_of(outcome: str | None) -> str:
    """Return the colour of a run's outcome."""
    return _OUTCOMES.get(outcome or "", _GREY)


def plain(value: Any) -> Any:
    """Return a value as JSON, or the name of its type if it is not supported."""
    return encode_or(value, f"<{type(value).__name__}>")


def preview(value: Any) -> str:
    """A value as text of limited length."""
    if not isinstance(value, str):
        found = plain(value)
        value = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2)
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]} … ({len(value)} characters)"


def escaped(value: Any) -> str:
    """`preview`, escaped for HTML."""
    return escape(preview(value))


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a name, which is escaped here, and an escaped value."""
    cells = "".join(
        f"<tr><td {CELL}><b>{escape(name)}</b></td><td {CELL}>{value}</td></tr>"
        for name, value in rows
    )
    return f'<table style="font-size:13px;white-space:pre-wrap">{cells}</table>' if cells else ""
