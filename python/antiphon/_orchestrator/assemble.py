"""From a team's declaration to the engine's graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Builder, RetryPolicy, Send
from antiphon._model.adapters import as_model
from antiphon._orchestrator.agent_spec import Spec, option_of, read_spec
from antiphon._orchestrator.flow import (
    END,
    START,
    AgentNames,
    FlowEdges,
    Route,
    edges_of_flow,
    edges_of_list,
    flow_diagram,
    members,
)
from antiphon._orchestrator.nodes import (
    AgentLoopOptions,
    RouterLoopOptions,
    calling,
    expected_of,
    read_router,
)
from antiphon._orchestrator.references import fallbacks, guests, handoffs
from antiphon._orchestrator.state import CUT, HANDED, RECORDED, WROTE, State, StateView, read_state
from antiphon._orchestrator.team_member import TeamMember
from antiphon._orchestrator.team_prompts import TeamPrompts
from antiphon._tool.context import check_context
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Engine
    from antiphon._diagram import Diagram
    from antiphon._serialization.registry import Registry
    from antiphon.tools import Tool


@dataclass(frozen=True, slots=True)
class Settings:
    """What a team is declared with; see `Orchestrator`."""

    agents: Any
    flow: Any
    router: Any
    state: Any
    retry: tuple[RetryPolicy, ...]
    timeout: float | None
    max_steps: int
    on_error: str
    fallback: Any
    name: str
    prompts: TeamPrompts


@dataclass(frozen=True, slots=True)
class AssembledTeam:
    """A team, ready to run.

    Attributes:
        engine: the engine's graph.
        state: its state.
        diagram: its diagram.
        max_steps: the supersteps that a run may take.
        names: its agents.
        schemas: the classes that say what its state holds.
        tools: the tools of its agents.
        needy: the tools that require a context, by agent.
        expected: what a router expects of its model, by the router's name.
    """

    engine: Engine
    state: State
    diagram: Diagram
    max_steps: int
    names: tuple[str, ...]
    schemas: tuple[Any, ...]
    tools: tuple[Tool, ...]
    needy: dict[str, tuple[Tool, ...]]
    expected: dict[str, str]

    def check_context(self, context: Any) -> None:
        """Returns if a run has the context that tools require.

        Raises:
            ValidationError: it has none (``context_missing``).
        """
        for agent, tools in self.needy.items():
            check_context(tools, context, agent)

    def registry(self) -> Registry:
        """Which types its threads may hold."""
        # Most teams have no threads.
        from antiphon._serialization.registry import registry_for

        return registry_for(*self.schemas)


def assemble(settings: Settings) -> AssembledTeam:
    """Checks a team and builds its graph.

    Raises:
        ValidationError: something in the declaration is wrong.
        AuthError: a model wants a key, and there is none.
    """
    listed = [read_spec(agent) for agent in members(settings.agents)]
    _check_names(listed)
    specs = [*listed, *guests(listed, settings.fallback)]
    agent_names = AgentNames(spec.name for spec in specs)
    state = read_state(settings.state)
    flow_edges, steps, router = _flow_edges(settings, listed, agent_names)
    everyone = [*specs, router] if router else specs
    _check_names(everyone)
    _check_keys(everyone, state)
    links = _links(everyone, settings.fallback, agent_names, settings.prompts)
    if router is None:  # a router may choose any of them
        _check_reach(flow_edges, listed, links)
    builder = Builder(settings.name)
    state.declare(builder)
    for channel in (RECORDED, HANDED):
        builder.channel(channel, "append", default=[])
    for channel in (WROTE, CUT):
        builder.channel(channel, "last")
    nodes = _Nodes(builder, settings, state, agent_names, links)
    for spec in everyone:
        nodes.add(spec, chooses=spec is router)
    nodes.connect(flow_edges, everyone)
    diagram = _diagram(everyone, flow_edges, links, _hub(router, agent_names))
    schemas = (*state.schemas, *_outputs(everyone))
    return AssembledTeam(
        builder.build(),
        state,
        diagram,
        steps,
        tuple(agent_names),
        schemas,
        tools=tuple(tool for spec in everyone for tool in spec.tools),
        needy=_needy(everyone),
        expected={router.name: expected_of(router, listed)} if router else {},
    )


def diagram_of(agent: Any) -> Diagram:
    """The diagram of an agent alone, for which its model is not opened.

    Raises:
        ValidationError: something in the declaration is wrong.
    """
    spec = read_spec(agent)
    specs = [spec, *guests([spec], None)]
    agent_names = AgentNames(one.name for one in specs)
    flow_edges, _ = edges_of_list([agent], agent_names)
    links = _links(specs, None, agent_names, TeamPrompts(None))
    return _diagram(specs, flow_edges, links, [])


def _diagram(
    specs: list[Spec], flow_edges: FlowEdges, links: _Links, more: list[tuple[str, str]]
) -> Diagram:
    names = [spec.name for spec in specs]
    return flow_diagram(names, flow_edges, links.fallbacks, [*more, *links.handed()])


def _needy(specs: list[Spec]) -> dict[str, tuple[Tool, ...]]:
    """The tools that require a context, by agent."""
    listed = {
        spec.name: tuple(tool for tool in spec.tools if tool.context_type is not None)
        for spec in specs
    }
    return {name: tools for name, tools in listed.items() if tools}


@dataclass(frozen=True, slots=True)
class _Links:
    """Where agents lead beside the declared edges."""

    fallbacks: dict[str, str]
    handoffs: dict[str, dict[str, dict[str, Any]]]

    def handed(self) -> list[tuple[str, str]]:
        """The handoffs, from agent to agent."""
        return [(name, target) for name, tools in self.handoffs.items() for target in tools]


def _links(
    specs: list[Spec], fallback: Any, agent_names: AgentNames, prompts: TeamPrompts
) -> _Links:
    by_name = {spec.name: spec for spec in specs}
    return _Links(
        fallbacks(specs, fallback, agent_names),
        {
            spec.name: handoffs(spec, by_name, agent_names, prompts)
            for spec in specs
            if spec.handoffs
        },
    )


class _Nodes:
    """Adds agents to a graph."""

    def __init__(
        self,
        builder: Builder,
        settings: Settings,
        state: State,
        agent_names: AgentNames,
        links: _Links,
    ) -> None:
        self._builder = builder
        self._settings = settings
        self._state = state
        self._agent_names = agent_names
        self._links = links
        self._models: dict[str, Any] = {}

    def add(self, spec: Spec, *, chooses: bool) -> None:
        """Adds an agent."""
        shared: dict[str, Any] = {"view": self._show}
        retry = spec.retry or self._settings.retry
        timeout = spec.timeout or self._settings.timeout
        if retry:
            shared["retry"] = list(retry)
        if timeout is not None:
            shared["timeout"] = timeout
        if spec.budget is not None:
            shared["limits"] = spec.budget.limits()
        if isinstance(spec.agent, TeamMember):
            spec.agent.join(self._state)
        if spec.act is not None:
            call = calling(spec, self._state, self._agent_names, chooses=chooses)
            self._builder.node(
                spec.name, call, wants_ctx=True, asynchronous=spec.asynchronous, **shared
            )
            return
        kind = RouterLoopOptions if chooses else AgentLoopOptions
        takes_over = not chooses and spec.name in self._links.fallbacks.values()
        tools = self._links.handoffs.get(spec.name, {})
        own = kind(
            spec,
            self._state,
            takes_over=takes_over,
            handoffs=tools,
            prompts=self._settings.prompts,
        )
        self._builder.agent(spec.name, model=self._model(spec), **own.options(), **shared)

    def connect(self, flow_edges: FlowEdges, specs: list[Spec]) -> None:
        """Adds the edges between them, also from those that fail."""
        for spec in specs:
            target = self._links.fallbacks.get(spec.name)
            if target is not None:
                self._builder.on_error(spec.name, "goto", target=target, channel=HANDED)
            elif (spec.on_error or self._settings.on_error) == "record":
                self._builder.on_error(spec.name, "record", channel=RECORDED)
        for source, target in flow_edges.edges:
            self._builder.edge(source, target)
        for sources, target in flow_edges.joins:
            self._builder.join(sources, target)
        for route in flow_edges.routes:
            self._builder.branch(
                route.source, route.label, _routing(route, self._agent_names), view=self._show
            )

    def _show(self, raw: dict[str, Any]) -> StateView:
        return StateView(self._state.show(raw), raw)

    def _model(self, spec: Spec) -> Any:
        where = f"agent `{spec.name}`"
        if not isinstance(spec.model, str):
            return as_model(spec.model, where)
        if spec.model not in self._models:
            self._models[spec.model] = as_model(spec.model, where)
        return self._models[spec.model]


def _flow_edges(
    settings: Settings, specs: list[Spec], agent_names: AgentNames
) -> tuple[FlowEdges, int, Spec | None]:
    if settings.flow is not None and settings.router is not None:
        raise ValidationError("`flow` and `router` cannot both be given", code="team_invalid")
    nested = any(isinstance(item, list | tuple) for item in settings.agents)
    if nested and (settings.flow is not None or settings.router is not None):
        raise ValidationError(
            "nested lists in `agents` cannot be combined with `flow` or `router`",
            code="team_invalid",
        )
    if settings.router is not None:
        router = read_router(settings.router, specs, settings.prompts)
        edges = [(START, router.name), *((name, router.name) for name in agent_names)]
        return FlowEdges(edges), settings.max_steps, router
    if settings.flow is None:
        flow_edges, steps = edges_of_list(settings.agents, agent_names)
        return flow_edges, max(settings.max_steps, steps), None
    if not isinstance(settings.flow, dict):
        raise ValidationError(
            f"`flow` must be a dict from agents to their successors: {settings.flow!r}",
            code="team_invalid",
        )
    return edges_of_flow(settings.flow, agent_names), settings.max_steps, None


def _outputs(specs: list[Spec]) -> list[Any]:
    """The types that agents answer with."""
    given = [option_of(spec.agent, "output") for spec in specs]
    return [kind for kind in given if kind is not None and not isinstance(kind, dict)]


def _check_names(specs: list[Spec]) -> None:
    seen: set[str] = set()
    for spec in specs:
        if spec.name in seen:
            is_team = isinstance(spec.agent, TeamMember)
            kind = "Orchestrator" if is_team else type(spec.agent).__name__
            raise ValidationError(
                f"two agents of the team have the same name: {spec.name}",
                code="team_invalid",
                details={"name": spec.name},
                hint=f'rename one: `{kind}(name="...")`',
            )
        seen.add(spec.name)


def _check_keys(specs: list[Spec], state: State) -> None:
    known = state.keys
    for spec in specs if known is not None else ():
        used = () if spec.act is not None else (*spec.reads, *spec.writes)
        for key in used:
            if key not in (known or ()):
                raise ValidationError(
                    f"agent `{spec.name}` reads or writes a key that the state does not "
                    f"declare: {key}",
                    code="state_invalid",
                    details={"agent": spec.name, "key": key},
                    hint=f"its keys are {', '.join(sorted(known or ()))}",
                )


def _check_reach(flow_edges: FlowEdges, specs: list[Spec], links: _Links) -> None:
    """Reports an agent that nothing leads to, where all that leads anywhere is known."""
    free = any(spec.act is not None for spec in specs)
    if free or any(route.targets is None for route in flow_edges.routes):
        return
    targets = {target for _, target in (*flow_edges.known_edges(), *links.handed())}
    targets |= set(links.fallbacks.values())
    lost = [spec.name for spec in specs if spec.name not in targets]
    if lost:
        raise ValidationError(
            f"no path in `flow` leads to the agent: {lost[0]}",
            code="team_invalid",
            details={"name": lost[0]},
            hint="add an edge to it, or remove it",
        )


def _routing(route: Route, agent_names: AgentNames) -> Callable[[StateView], Any]:
    """A route as the engine calls it: it sees the state, and must name agents."""
    where = f"route `{route.label}` of agent `{route.source}`"

    def choose(shown: StateView) -> Any:
        chosen = route.choose(shown.state)
        for one in chosen if isinstance(chosen, list | tuple) else [chosen]:
            if not isinstance(one, str | Send):
                raise StateError(
                    f"{where} returned neither a name, a `Send` nor `END`: {one!r}",
                    code="target_unknown",
                    hint=f"the agents are {', '.join(agent_names)}",
                )
            agent_names.chosen(one.node if isinstance(one, Send) else one, where)
        return chosen

    return choose


def _hub(router: Spec | None, agent_names: AgentNames) -> list[tuple[str, str]]:
    return [(router.name, name) for name in (*agent_names, END)] if router else []
