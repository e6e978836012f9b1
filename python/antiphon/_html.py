"""Values as text and as static HTML for notebooks, without scripts, fonts or network."""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import markdown_html
from antiphon._json_values import encode_or

if TYPE_CHECKING:
    from collections.abc import Iterable

    from antiphon.content import Image

_LONGEST = 20_000
"""Characters of a value that are displayed."""
BAD = "#cf222e"
WARNING = "#9a6700"
_OUTCOMES = {"answered": "#1a7f37", "paused": WARNING, "no_answer": WARNING, "error": BAD}
BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;max-width:60em;font-size:14px"
CELL = 'style="text-align:left;padding:1px 10px 1px 0;vertical-align:top"'
SMALL = "opacity:.7;font-size:12px"


def colour_of(outcome: str | None) -> str:
    """Return the colour of a run's outcome."""
    return _OUTCOMES.get(outcome or "", "inherit")


def plain(value: Any) -> Any:
    """Return a value as JSON, or the name of its type if it is not supported."""
    return encode_or(value, f"<{type(value).__name__}>")


def preview(value: Any, longest: int = _LONGEST) -> str:
    """A value as text of limited length."""
    if not isinstance(value, str):
        found = plain(value)
        value = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2)
    return value if len(value) <= longest else f"{value[:longest]} … ({len(value)} characters)"


def escaped(value: Any, longest: int = _LONGEST) -> str:
    """`preview`, escaped for HTML."""
    return escape(preview(value, longest))


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a name, which is escaped here, and an escaped value."""
    cells = "".join(
        f"<tr><td {CELL}><b>{escape(name)}</b></td><td {CELL}>{value}</td></tr>"
        for name, value in rows
    )
    return f'<table style="font-size:13px;white-space:pre-wrap">{cells}</table>' if cells else ""


def rendered(value: Any) -> str:
    """A value as an element: frames as tables, images, Markdown; folded if it is long."""
    from antiphon.content import Image

    if isinstance(value, Image):
        return _image(value)
    if type(value).__module__.partition(".")[0] in _FRAMES and hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    text = preview(value)
    if isinstance(value, str):
        element = f'<div style="margin:8px 0">{markdown_html(text)}</div>'
    else:
        element = f'<div style="white-space:pre-wrap;margin:8px 0">{escape(text)}</div>'
    is_long = len(text) > _FOLDED_LENGTH or text.count("\n") > _FOLDED_LINES
    return folded(f"{len(text):,} characters", element) if is_long else element


_FRAMES = {"pandas", "polars"}
"""Packages whose frames escape their cells when they display themselves."""
_FOLDED_LENGTH = 4_000
_FOLDED_LINES = 60


def folded(title: str, element: str) -> str:
    """An element that opens when its title is clicked."""
    return f'<details><summary style="font-size:12px">{escape(title)}</summary>{element}</details>'


def _image(image: Image) -> str:
    if image.url is not None:
        # Loading it would tell its host that the result is being read.
        return f"<div>{escape(image.url)}</div>"
    data = b64encode(image.data).decode()
    return f'<img style="max-width:100%" src="data:{image.mime_type};base64,{data}">'
