"""A team as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._diagram import Diagram, DiagramEdge
from antiphon._orchestrator.roster import END, START

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from antiphon._orchestrator.flow import Ways


def drawing(
    names: Sequence[str],
    ways: Ways,
    policies: Mapping[str, str],
    hub: Sequence[tuple[str, str]],
) -> Diagram:
    """The drawing of a team.

    Args:
        names: its agents, in order.
        ways: what leads from one to another.
        policies: what happens when an agent fails.
        hub: where a router may lead.
    """
    edges = [DiagramEdge(source, target) for source, target in ways.edges]
    edges += [DiagramEdge(source, to) for sources, to in ways.joins for source in sources]
    for route in ways.routes:
        edges += [
            DiagramEdge(route.source, target, route.label, conditional=True)
            for target in route.targets or names
        ]
    edges += [DiagramEdge(source, target, conditional=True) for source, target in hub]
    edges += [
        DiagramEdge(name, policy, "on error", conditional=True)
        for name, policy in policies.items()
        if policy in names
    ]
    sources = {edge.source for edge in edges if edge.label != "on error"}
    edges += [DiagramEdge(name, END) for name in names if name not in sources]
    nodes: dict[str, dict[str, Any]] = {name: {} for name in (START, *names, END)}
    return Diagram(nodes, tuple(dict.fromkeys(edges)))
