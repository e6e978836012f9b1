"""The names of a team's agents, and the edges between them: lists, named edges, or a hub."""

from __future__ import annotations

import difflib
import itertools
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._diagram import Diagram, DiagramEdge
from antiphon._event_loop import is_async
from antiphon._orchestrator.declaration import AgentDeclaration, TeamBase, is_agent
from antiphon._orchestrator.team_member import TeamMember
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


END = "__end__"
"""Where a flow leads when the run is to end."""
START = "__start__"


class AgentNames:
    """The names of a team's agents, in order."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def declared(self, name: object, where: str) -> str:
        """A name in the declaration of a team.

        Raises:
            ValidationError: no agent is called that (``agent_unknown``).
        """
        if isinstance(name, str) and name in self:
            return name
        raise ValidationError(
            f"{where} names an agent that is not in the team: {name}",
            code="agent_unknown",
            details={"name": str(name), "known": list(self)},
            hint=self._hint(name),
        )

    def chosen(self, name: object, where: str) -> str:
        """A name that was chosen while the team runs.

        Raises:
            StateError: no agent is called that (``target_unknown``).
        """
        if isinstance(name, str) and (name == END or name in self):
            return name
        raise StateError(
            f"{where} leads to an agent that is not in the team: {name}",
            code="target_unknown",
            details={"name": str(name), "known": list(self)},
            hint=self._hint(name),
        )

    def _hint(self, name: object) -> str:
        near = difflib.get_close_matches(str(name), self._names, 1)
        return f"did you mean `{near[0]}`?" if near else f"its agents are {', '.join(self)}"


@dataclass(frozen=True, slots=True)
class Route:
    """A function that returns the successors of an agent.

    Attributes:
        source: the agent.
        choose: gives a name, a `Send`, the end, or a list of those.
        targets: the names that its return hint lists, if it lists any.
    """

    source: str
    choose: Callable[[Any], Any]
    targets: tuple[str, ...] | None

    @property
    def label(self) -> str:
        """What to call it."""
        return getattr(self.choose, "__name__", type(self.choose).__name__)


@dataclass(slots=True)
class FlowEdges:
    """Edges, joins and routes between agents, by name."""

    edges: list[tuple[str, str]] = field(default_factory=list)
    joins: list[tuple[list[str], str]] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)

    def known_edges(self) -> list[tuple[str, str]]:
        """All that is known to lead from one to another."""
        joined = [(source, target) for sources, target in self.joins for source in sources]
        routed = [(route.source, to) for route in self.routes for to in route.targets or ()]
        return [*self.edges, *joined, *routed]


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a list: where it begins and ends, and over how many steps."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    steps: int
    even: bool
    """Whether all its ends are reached in the same step."""


def members(agents: Any) -> list[AgentDeclaration]:
    """The agents of a list and the lists within it, in order; classes are called for one.

    Raises:
        ValidationError: there is something else in it, or nothing (``team_invalid``).
    """
    if not isinstance(agents, list | tuple) or not agents:
        raise ValidationError(
            f"`agents` of a team must be a list with at least one agent: {agents!r}",
            code="team_invalid",
            hint="write `agents=[...]`",
        )
    found: list[AgentDeclaration] = []
    for item in agents:
        if isinstance(item, list | tuple):
            found += members(item)
        else:
            found.append(member(item))
    return found


def is_member(item: Any) -> bool:
    """Whether it is an agent, a class of agents, or a team."""
    return is_agent(item) or isinstance(item, TeamBase)


def member(item: Any) -> AgentDeclaration:
    """The agent for an item: an agent itself, a new instance of a class, or one that runs a team.

    Raises:
        ValidationError: it is no agent (``team_invalid``).
    """
    if isinstance(item, AgentDeclaration):
        return item
    if isinstance(item, TeamBase):
        return TeamMember(item)
    if is_member(item):
        agent: AgentDeclaration = item()
        return agent
    raise ValidationError(
        f"a team must consist of agents, found: {type(item).__name__}",
        code="team_invalid",
        hint="subclass `Agent` and call the function in its `act`",
    )


def edges_of_list(agents: Sequence[Any], names: Iterable[str]) -> tuple[FlowEdges, int]:
    """The edges through a list, which alternates between sequence and parallel, and their steps."""
    flow_edges = FlowEdges()
    whole = _sequence(agents, iter(names), flow_edges)
    flow_edges.edges = [*((START, name) for name in whole.first), *flow_edges.edges]
    return flow_edges, whole.steps


def edges_of_flow(flow: Mapping[str, Any], agent_names: AgentNames) -> FlowEdges:
    """The edges that a flow names.

    Raises:
        ValidationError: a name is not in the team (``agent_unknown``), a value is neither a
            name, a list of names nor a function, or an agent can never be reached
            (``team_invalid``).
    """
    flow_edges = FlowEdges()
    if START not in flow:
        flow_edges.edges.append((START, next(iter(agent_names))))
    for source, given in flow.items():
        if source != START:
            agent_names.declared(source, "`flow`")
        if callable(given):
            flow_edges.routes.append(_route(source, given, agent_names))
            continue
        for target in [given] if isinstance(given, str) else _targets(source, given):
            if target != END:
                agent_names.declared(target, f"`flow` of agent `{source}`")
            if (source, target) != (START, END):
                flow_edges.edges.append((source, target))
    return flow_edges


def _sequence(items: Sequence[Any], names: Any, flow_edges: FlowEdges) -> _Part:
    parts = [_element(item, names, flow_edges) for item in items]
    for before, after in itertools.pairwise(parts):
        for target in after.first:
            if before.even:
                flow_edges.edges += [(source, target) for source in before.last]
            else:
                flow_edges.joins.append((list(before.last), target))
    steps = sum(part.steps for part in parts)
    return _Part(parts[0].first, parts[-1].last, steps, parts[-1].even)


def _element(item: Any, names: Any, flow_edges: FlowEdges) -> _Part:
    if not isinstance(item, list | tuple):
        name = next(names)
        return _Part((name,), (name,), 1, even=True)
    branches = [
        _sequence(branch if isinstance(branch, list | tuple) else [branch], names, flow_edges)
        for branch in item
    ]
    lengths = {branch.steps for branch in branches}
    return _Part(
        tuple(name for branch in branches for name in branch.first),
        tuple(name for branch in branches for name in branch.last),
        max(lengths),
        even=len(lengths) == 1 and all(branch.even for branch in branches),
    )


def _targets(source: str, given: Any) -> list[str]:
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        return list(given)
    raise ValidationError(
        f"`flow` of agent `{source}` must be a name, a list of names, `END` or a function: "
        f"{given!r}",
        code="team_invalid",
    )


def _route(source: str, choose: Any, agent_names: AgentNames) -> Route:
    if is_async(choose):
        raise ValidationError(
            f"a route must be a sync function: {getattr(choose, '__name__', choose)}",
            code="team_invalid",
            hint="do async work in an agent whose `act` returns `ctx.goto(...)`",
        )
    targets = _declared_targets(choose)
    for target in targets or ():
        if target != END:
            agent_names.declared(target, f"the return hint of route `{_called(choose)}`")
    return Route(source, choose, targets)


def _declared_targets(choose: Any) -> tuple[str, ...] | None:
    try:
        hint = typing.get_type_hints(choose).get("return")
    except (NameError, TypeError):  # hints that cannot be read say nothing
        return None
    if typing.get_origin(hint) is list:
        (hint,) = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return tuple(str(name) for name in typing.get_args(hint))
    return None


def _called(choose: Any) -> str:
    return getattr(choose, "__name__", type(choose).__name__)


def flow_diagram(
    names: Sequence[str],
    flow_edges: FlowEdges,
    fallbacks: Mapping[str, str],
    hub: Sequence[tuple[str, str]],
) -> Diagram:
    """The diagram of a team."""
    edges = [DiagramEdge(source, target) for source, target in flow_edges.edges]
    edges += [DiagramEdge(source, to) for sources, to in flow_edges.joins for source in sources]
    for route in flow_edges.routes:
        edges += [
            DiagramEdge(route.source, target, route.label, conditional=True)
            for target in route.targets or names
        ]
    edges += [DiagramEdge(source, target, conditional=True) for source, target in hub]
    edges += [
        DiagramEdge(name, target, "on error", conditional=True)
        for name, target in fallbacks.items()
    ]
    sources = {edge.source for edge in edges if edge.label != "on error"}
    edges += [DiagramEdge(name, END) for name in names if name not in sources]
    nodes: dict[str, dict[str, Any]] = {name: {} for name in (START, *names, END)}
    return Diagram(nodes, tuple(dict.fromkeys(edges)))
