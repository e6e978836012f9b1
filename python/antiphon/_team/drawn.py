"""A team as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._team.roster import END, START
from antiphon.graph import Drawing, DrawnEdge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from antiphon._team.flow import Ways


def drawing(
    names: Sequence[str],
    ways: Ways,
    policies: Mapping[str, str],
    hub: Sequence[tuple[str, str]],
) -> Drawing:
    """The drawing of a team.

    Args:
        names: its agents, in order.
        ways: what leads from one to another.
        policies: what happens when an agent fails.
        hub: where a router may lead.
    """
    edges = [DrawnEdge(source, target) for source, target in ways.edges]
    edges += [DrawnEdge(source, to) for sources, to in ways.joins for source in sources]
    for route in ways.routes:
        edges += [
            DrawnEdge(route.source, target, route.label, conditional=True)
            for target in route.targets or names
        ]
    edges += [DrawnEdge(source, target, conditional=True) for source, target in hub]
    edges += [
        DrawnEdge(name, policy, "on error", conditional=True)
        for name, policy in policies.items()
        if policy in names
    ]
    sources = {edge.source for edge in edges if edge.label != "on error"}
    edges += [DrawnEdge(name, END) for name in names if name not in sources]
    nodes: dict[str, dict[str, Any]] = {name: {} for name in (START, *names, END)}
    return Drawing(nodes, tuple(dict.fromkeys(edges)))
