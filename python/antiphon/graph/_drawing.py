"""Graphs as pictures: Mermaid text and SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._display import Arrow, svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.graph._builder import StateGraph

__all__ = ["Drawing", "DrawnEdge", "draw"]

_START, _END = "__start__", "__end__"


@dataclass(frozen=True, slots=True)
class DrawnEdge:
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
class Drawing:
    """A graph's nodes and edges, to be drawn. In a notebook it shows itself.

    Attributes:
        nodes: names with their notes, in order; ``__start__`` first, ``__end__`` last.
        edges: the arrows.
    """

    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    edges: tuple[DrawnEdge, ...] = ()

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
        """Nodes and edges as a dict of JSON values, but for the notes, which are as given."""
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

    def draw_svg(self) -> str:
        """The graph as an SVG image that needs nothing else."""
        arrows = [
            Arrow(edge.source, edge.target, edge.label, dotted=edge.conditional)
            for edge in self.edges
        ]
        return svg(list(self.nodes), arrows)

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
        return f"{_id(name)}({name}{small})"


def draw(graph: StateGraph) -> Drawing:
    """The drawing of a builder's graph."""
    edges = list(dict.fromkeys(_edges(graph)))
    sources = {edge.source for edge in edges}
    edges += [DrawnEdge(name, _END) for name in graph.nodes if name not in sources]
    nodes: dict[str, Mapping[str, Any]] = {_START: {}}
    for name, spec in graph.nodes.items():
        notes = dict(spec.options.get("metadata") or {})
        nodes[name] = {**notes, "defer": True} if spec.options.get("defer") else notes
    if any(edge.target == _END for edge in edges):
        nodes[_END] = {}
    return Drawing(nodes, tuple(edges))


def _edges(graph: StateGraph) -> Iterator[DrawnEdge]:
    for source, target in graph.edges:
        yield DrawnEdge(source, target)
    for sources, target in graph.joins:
        for source in sources:
            yield DrawnEdge(source, target)
    for branch in graph.branches:
        for target, label in branch.drawn().items():
            shown = "" if label == target else label
            yield DrawnEdge(branch.source, target, shown, conditional=True)
    for spec in graph.nodes.values():
        for target, label in spec.leads_to().items():
            yield DrawnEdge(spec.name, target, label, conditional=True)


def _mermaid_edge(edge: DrawnEdge) -> str:
    label = f" &nbsp;{edge.label}&nbsp; " if edge.label else ""
    if edge.conditional:
        arrow = f"-. {label.strip()} .->" if label else "-.->"
    else:
        arrow = f"-- {label.strip()} -->" if label else "-->"
    return f"{_id(edge.source)} {arrow} {_id(edge.target)};"


def _id(name: str) -> str:
    """A name as Mermaid takes it for an identifier."""
    return re.sub(r"[^\w-]", lambda found: f"\\{ord(found[0]):x}", name, flags=re.ASCII)
