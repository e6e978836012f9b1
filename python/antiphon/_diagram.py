"""Diagrams of graphs and teams: Mermaid text, and static SVG without script, font or network."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_START, _END = "__start__", "__end__"
_ELSEWHERE = {
    "draw_ascii": "`draw_mermaid()`",
    "draw_mermaid_png": "`draw_svg()` for an image, or `draw_mermaid()` for its source",
    "draw_png": "`draw_svg()`",
    "print_ascii": "`draw_mermaid()`",
}
"""Methods of LangGraph's diagrams that need a web service or a package, and those that do not."""


@dataclass(frozen=True, slots=True)
class DiagramEdge:
    """An arrow.

    Attributes:
        source: where it begins.
        target: where it ends.
        label: what is written on it.
        conditional: whether it is only taken sometimes.
    """

    source: str
    target: str
    label: str = ""
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Diagram:
    """A graph's nodes and edges; displays itself in notebooks.

    Attributes:
        nodes: names with their notes, in order; ``__start__`` first, ``__end__`` last.
        edges: the arrows.
    """

    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    edges: tuple[DiagramEdge, ...] = ()

    def draw_mermaid(self, *, with_styles: bool = True) -> str:
        """The graph as Mermaid text.

        Args:
            with_styles: whether shapes and colours are set too. Default: true.
        """
        lines = (
            ["---", "config:", "  flowchart:", "    curve: linear", "---"] if with_styles else []
        )
        lines.append("graph TD;")
        if with_styles:
            lines += [f"\t{self._mermaid_node(name)}" for name in self.nodes]
        lines += [f"\t{_mermaid_edge(edge)}" for edge in self.edges]
        if with_styles:
            lines += [
                "\tclassDef default fill:#f2f0ff,line-height:1.2",
                "\tclassDef first fill-opacity:0",
                "\tclassDef last fill:#bfb6fc",
            ]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """The nodes and edges as JSON values; notes stay as they are."""
        nodes = [
            {"id": name, **({"metadata": dict(notes)} if notes else {})}
            for name, notes in self.nodes.items()
        ]
        edges = []
        for edge in self.edges:
            drawn: dict[str, Any] = {"source": edge.source, "target": edge.target}
            if edge.label:
                drawn["data"] = edge.label
            if edge.conditional:
                drawn["conditional"] = True
            edges.append(drawn)
        return {"nodes": nodes, "edges": edges}

    def loop_through(self, names: Iterable[str]) -> list[str]:
        """The nodes on loops through one of `names`, in order, as far as arrows show them."""
        onward: dict[str, set[str]] = {}
        back: dict[str, set[str]] = {}
        for edge in self.edges:
            onward.setdefault(edge.source, set()).add(edge.target)
            back.setdefault(edge.target, set()).add(edge.source)
        found: set[str] = set()
        for name in names:
            found |= _reached(onward, name) & _reached(back, name)
        return [name for name in self.nodes if name in found]

    def draw_svg(self) -> str:
        """The graph as a self-contained SVG image."""
        return _svg(list(self.nodes), self.edges)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            message = f"a diagram has no attribute: {name}"
            if name in _ELSEWHERE:
                message += f", which needs a web service or a package; call {_ELSEWHERE[name]}"
            raise AttributeError(message, name=name, obj=self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {
            "text/plain": self.draw_mermaid(with_styles=False),
            "image/svg+xml": self.draw_svg(),
        }

    def _mermaid_node(self, name: str) -> str:
        if name == _START:
            return f"{name}([<p>{name}</p>]):::first"
        if name == _END:
            return f"{name}([<p>{name}</p>]):::last"
        notes = self.nodes[name]
        shown = "".join(f"{key} = {value}\n" for key, value in notes.items()).strip()
        small = f"<hr/><small><em>{shown}</em></small>" if notes else ""
        return f"{_mermaid_id(name)}({name}{small})"


def _mermaid_edge(edge: DiagramEdge) -> str:
    label = f" &nbsp;{edge.label}&nbsp; " if edge.label else ""
    if edge.conditional:
        arrow = f"-. {label.strip()} .->" if label else "-.->"
    else:
        arrow = f"-- {label.strip()} -->" if label else "-->"
    return f"{_mermaid_id(edge.source)} {arrow} {_mermaid_id(edge.target)};"


def _mermaid_id(name: str) -> str:
    """A name as a Mermaid identifier."""
    return re.sub(r"[^\w-]", lambda found: f"\\{ord(found[0]):x}", name, flags=re.ASCII)


_HEIGHT, _ROW, _GAP, _MARGIN, _LETTER = 34, 78, 28, 24, 7.6
_STYLE = (
    ".n rect{fill:#f2f0ff;stroke:#6b5fc7}.e rect{fill:none;stroke:#8a8a8a}"
    "text{font:13px system-ui,sans-serif;fill:#222;text-anchor:middle;dominant-baseline:central}"
    "path{fill:none;stroke:#777;stroke-width:1.3}.d{stroke-dasharray:4 3}"
    ".l{font-size:11px;fill:#555}"
)


@dataclass(frozen=True, slots=True)
class _NodePosition:
    """The position of a node: the middle of its top edge, in pixels."""

    x: float
    y: float
    width: float


def _svg(nodes: Sequence[str], edges: Sequence[DiagramEdge]) -> str:
    """The graph from top to bottom, as SVG with escaped names; unknown targets are left out."""
    known = [arrow for arrow in edges if arrow.source in nodes and arrow.target in nodes]
    boxes = _positions(_layers(nodes, known))
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
        *(_svg_edge(arrow, boxes, right) for arrow in known),
        *(_svg_node(name, box) for name, box in boxes.items()),
        "</svg>",
    ]
    return "".join(parts)


def _layers(nodes: Sequence[str], arrows: Sequence[DiagramEdge]) -> list[list[str]]:
    """The names by row: each node below its first predecessor, the end at the bottom."""
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
    if _END in row:
        others = [place for name, place in row.items() if name != _END]
        row[_END] = last = max(others, default=0) + 1
    depth = max([last, *row.values()])
    return [[name for name in nodes if row[name] == level] for level in range(depth + 1)]


def _positions(rows: Sequence[Sequence[str]]) -> dict[str, _NodePosition]:
    widths = {name: max(60.0, len(name) * _LETTER + 24) for row in rows for name in row}
    spans = [sum(widths[name] for name in row) + _GAP * max(0, len(row) - 1) for row in rows]
    widest = max(spans, default=0.0)
    boxes: dict[str, _NodePosition] = {}
    for level, (row, span) in enumerate(zip(rows, spans, strict=True)):
        x = _MARGIN + (widest - span) / 2
        for name in row:
            boxes[name] = _NodePosition(x + widths[name] / 2, _MARGIN + level * _ROW, widths[name])
            x += widths[name] + _GAP
    return boxes


def _svg_node(name: str, box: _NodePosition) -> str:
    kind, radius = ("e", _HEIGHT / 2) if name in (_START, _END) else ("n", 7)
    left = box.x - box.width / 2
    return (
        f'<g class="{kind}"><rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="{radius}"/>'
        f'<text x="{box.x:.1f}" y="{box.y + _HEIGHT / 2:.1f}">{escape(name.strip("_"))}</text></g>'
    )


def _svg_edge(arrow: DiagramEdge, boxes: Mapping[str, _NodePosition], right: float) -> str:
    start, end = boxes[arrow.source], boxes[arrow.target]
    style = ' class="d"' if arrow.conditional else ""
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


def _reached(arrows: Mapping[str, set[str]], start: str) -> set[str]:
    """The nodes at the ends of paths of at least one arrow."""
    found: set[str] = set()
    left = [start]
    while left:
        ends = arrows.get(left.pop(), set()) - found
        found |= ends
        left += ends
    return found
