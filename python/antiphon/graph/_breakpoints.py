"""Static interrupts: the nodes before or after which a run stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from antiphon._graph_errors import GraphBuildError

if TYPE_CHECKING:
    from collections.abc import Iterable

Stops: TypeAlias = Literal["*"] | Sequence[str] | None
"""The names of nodes, ``*`` for all of them, or none."""

Breakpoints: TypeAlias = tuple[list[str], list[str]]
"""The nodes before which a run stops, and those after which."""


def read_stops(given: Any, option: str, nodes: Iterable[str]) -> list[str]:
    """The names of the nodes at which a run stops.

    Raises:
        GraphBuildError: it is no list of names, or the graph has no such node.
    """
    if given is None or given == ():
        return []
    if given == "*":
        return list(nodes)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise GraphBuildError(
            f'`{option}` must be a list of node names or "*": {given!r}', code="call_invalid"
        )
    known = set(nodes)
    for name in given:
        if name not in known:
            raise GraphBuildError(
                f"`{option}` names an unknown node: {name}",
                hint=f"the nodes are: {', '.join(sorted(known))}",
            )
    return list(given)


def no_breakpoints_within(name: str) -> GraphBuildError:
    """The error of a graph with breakpoints that is a part of another one."""
    return GraphBuildError(
        f"a graph that runs in a node of another one cannot stop at breakpoints: {name}",
        code="call_invalid",
        hint="call `interrupt` in its node, which pauses both",
    )
