"""Layered drawings of graphs as static SVG: no script, no font, no network."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Arrow", "svg"]

_HEIGHT, _ROW, _GAP, _MARGIN, _LETTER = 34, 78, 28, 24, 7.6
_ENDS = ("__start__", "__end__")
_STYLE = (
    ".n rect{fill:#f2f0ff;stroke:#6b5fc7}.e rect{fill:none;stroke:#8a8a8a}"
    "text{font:13px system-ui,sans-serif;fill:#222;text-anchor:middle;dominant-baseline:central}"
    "path{fill:none;stroke:#777;stroke-width:1.3}.d{stroke-dasharray:4 3}"
    ".l{font-size:11px;fill:#555}"
)


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from node to node.

    Attributes:
        source: where it begins.
        target: where it ends.
        label: what is written on it.
        dotted: how it is drawn.
    """

    source: str
    target: str
    label: str = ""
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a node is drawn: the middle of its top edge, in pixels."""

    x: float
    y: float
    width: float


def svg(nodes: Sequence[str], arrows: Sequence[Arrow]) -> str:
    """Draws a graph from top to bottom.

    Args:
        nodes: the names, in the order in which they are placed within a row.
        arrows: the arrows; one to a node that is not in `nodes` is left out.

    Returns:
        An SVG image. Names and labels are escaped.
    """
    known = [arrow for arrow in arrows if arrow.source in nodes and arrow.target in nodes]
    boxes = _place(_rows(nodes, known))
    right = max((box.x + box.width / 2 for box in boxes.values()), default=0.0)
    width = right + _MARGIN + 2 * _GAP  # room for arrows that lead back
    height = max((box.y for box in boxes.values()), default=0.0) + _HEIGHT + _MARGIN
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        ),
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="antiphon-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" '
            'style="fill:#777;stroke:none"/></marker></defs>'
        ),
        *(_line(arrow, boxes, right) for arrow in known),
        *(_box(name, box) for name, box in boxes.items()),
        "</svg>",
    ]
    return "".join(parts)


def _rows(nodes: Sequence[str], arrows: Sequence[Arrow]) -> list[list[str]]:
    """Names by row: each node below the first that leads to it, the end at the bottom."""
    row = dict.fromkeys(nodes[:1], 0)
    front = list(row)
    while front:
        following = []
        for arrow in arrows:
            if arrow.source in front and arrow.target not in row:
                row[arrow.target] = row[arrow.source] + 1
                following.append(arrow.target)
        front = following
    last = max(row.values(), default=0)
    for name in nodes:
        row.setdefault(name, 1)  # nothing leads to it
    if _ENDS[1] in row:
        others = [place for name, place in row.items() if name != _ENDS[1]]
        row[_ENDS[1]] = last = max(others, default=0) + 1
    depth = max([last, *row.values()])
    return [[name for name in nodes if row[name] == level] for level in range(depth + 1)]


def _place(rows: Sequence[Sequence[str]]) -> dict[str, _Box]:
    widths = {name: max(60.0, len(name) * _LETTER + 24) for row in rows for name in row}
    spans = [sum(widths[name] for name in row) + _GAP * max(0, len(row) - 1) for row in rows]
    widest = max(spans, default=0.0)
    boxes: dict[str, _Box] = {}
    for level, (row, span) in enumerate(zip(rows, spans, strict=True)):
        x = _MARGIN + (widest - span) / 2
        for name in row:
            boxes[name] = _Box(x + widths[name] / 2, _MARGIN + level * _ROW, widths[name])
            x += widths[name] + _GAP
    return boxes


def _box(name: str, box: _Box) -> str:
    kind, radius = ("e", _HEIGHT / 2) if name in _ENDS else ("n", 7)
    left = box.x - box.width / 2
    return (
        f'<g class="{kind}"><rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="{radius}"/>'
        f'<text x="{box.x:.1f}" y="{box.y + _HEIGHT / 2:.1f}">{escape(name.strip("_"))}</text></g>'
    )


def _line(arrow: Arrow, boxes: Mapping[str, _Box], right: float) -> str:
    start, end = boxes[arrow.source], boxes[arrow.target]
    style = ' class="d"' if arrow.dotted else ""
    if end.y > start.y:
        top, bottom = start.y + _HEIGHT, end.y
        middle = (top + bottom) / 2
        path = f"M{start.x:.1f} {top:.1f}C{start.x:.1f} {middle:.1f} {end.x:.1f} {middle:.1f} "
        path += f"{end.x:.1f} {bottom:.1f}"
        x, y = (start.x + end.x) / 2, middle
    else:
        # Back or across: around the right side of everything.
        x = right + _GAP
        first, second = start.y + _HEIGHT / 2 + 6, end.y + _HEIGHT / 2 - 6
        path = f"M{start.x + start.width / 2:.1f} {first:.1f}C{x:.1f} {first:.1f} {x:.1f} "
        path += f"{second:.1f} {end.x + end.width / 2:.1f} {second:.1f}"
        y = (first + second) / 2
    label = f'<text class="l" x="{x:.1f}" y="{y:.1f}">{escape(arrow.label)}</text>'
    drawn = f'<path{style} d="{path}" marker-end="url(#antiphon-tip)"/>'
    return drawn + (label if arrow.label else "")
