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
    Roster,
    Route,
    Ways,
    flow_diagram,
    flow_ways,
    listed_ways,
    members,
)
from antiphon._orchestrator.nodes import Chooser, Declared, calling, read_router
from antiphon._orchestrator.state import HANDED, RECORDED, State, StateView, read_state
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Engine
    from antiphon._diagram import Diagram
    from antiphon._serialization.registry import Registry

_POLICIES = ("raise", "record")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a team is declared with; see `Orchestrator`."""

    agents: Any
    flow: Any
    router: Any
    state: Any
    retry: tuple[RetryPolicy, ...]
    timeout: float | None
    max_turns: int
    on_error: str
    name: str


@dataclass(frozen=True, slots=True)
class Assembled:
    """A team, ready to run.

    Attributes:
        engine: the engine's graph.
        state: its state.
        diagram: its diagram.
        supersteps: how many steps a run may take.
        names: its agents.
        schemas: the classes that say what its state holds.
    """

    engine: Engine
    state: State
    diagram: Diagram
    supersteps: int
    names: tuple[str, ...]
    schemas: tuple[Any, ...]

    def registry(self) -> Registry:
        """Which types its threads may hold."""
        # Most teams have no threads.
        from antiphon._serialization.registry import registry_for

        return registry_for(*self.schemas)


def assemble(settings: Settings) -> Assembled:
    """Checks a team and builds its graph.

    Raises:
        ValidationError: something in the declaration is wrong.
        AuthError: a model wants a key, and there is none.
    """
    specs = [read_spec(agent) for agent in members(settings.agents)]
    _check_names(specs)
    roster = Roster(spec.name for spec in specs)
    state = read_state(settings.state)
    ways, steps, router = _ways(settings, specs, roster)
    everyone = [*specs, router] if router else specs
    _check_keys(everyone, state)
    policies = _policies(settings, everyone, roster)
    builder = Builder(settings.name)
    state.declare(builder)
    builder.channel(RECORDED, "append", default=[])
    builder.channel(HANDED, "append", default=[])
    nodes = _Nodes(builder, settings, state, roster)
    for spec in everyone:
        nodes.add(spec, takes_over=spec.name in policies.values(), chooses=spec is router)
    nodes.connect(ways)
    for name, policy in policies.items():
        _set_policy(builder, name, policy)
    diagram = flow_diagram([spec.name for spec in everyone], ways, policies, _hub(router, roster))
    schemas = (*state.schemas, *_outputs(everyone))
    return Assembled(builder.build(), state, diagram, steps, tuple(roster), schemas)


class _Nodes:
    """Adds agents to a graph."""

    def __init__(self, builder: Builder, settings: Settings, state: State, roster: Roster) -> None:
        self._builder = builder
        self._settings = settings
        self._state = state
        self._roster = roster
        self._models: dict[str, Any] = {}

    def add(self, spec: Spec, *, takes_over: bool, chooses: bool) -> None:
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
        if spec.act is not None:
            call = calling(spec, self._state, self._roster)
            self._builder.node(
                spec.name, call, wants_ctx=True, asynchronous=spec.asynchronous, **shared
            )
            return
        kind = Chooser if chooses else Declared
        own = kind(spec, self._state, takes_over=takes_over and not chooses)
        self._builder.agent(spec.name, model=self._model(spec), **own.options(), **shared)

    def connect(self, ways: Ways) -> None:
        """Adds the ways between them."""
        for source, target in ways.edges:
            self._builder.edge(source, target)
        for sources, target in ways.joins:
            self._builder.join(sources, target)
        for route in ways.routes:
            self._builder.branch(
                route.source, route.label, _routing(route, self._roster), view=self._show
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


def _ways(settings: Settings, specs: list[Spec], roster: Roster) -> tuple[Ways, int, Spec | None]:
    if settings.flow is not None and settings.router is not None:
        raise ValidationError("`flow` and `router` cannot both be given", code="team_invalid")
    nested = any(isinstance(item, list | tuple) for item in settings.agents)
    if nested and (settings.flow is not None or settings.router is not None):
        raise ValidationError(
            "nested lists in `agents` cannot be combined with `flow` or `router`",
            code="team_invalid",
        )
    if settings.router is not None:
        router = read_router(settings.router, specs)
        edges = [(START, router.name), *((name, router.name) for name in roster)]
        # Each turn is the router's step and an agent's; then it says that it is done.
        return Ways(edges), 2 * settings.max_turns + 1, router
    if settings.flow is None:
        ways, steps = listed_ways(settings.agents, roster)
        return ways, max(settings.max_turns, steps), None
    if not isinstance(settings.flow, dict):
        raise ValidationError(
            f"`flow` must be a dict from agents to their successors: {settings.flow!r}",
            code="team_invalid",
        )
    ways = flow_ways(settings.flow, roster)
    _check_reach(ways, specs, settings)
    return ways, settings.max_turns, None


def _outputs(specs: list[Spec]) -> list[Any]:
    """The types that agents answer with."""
    given = [option_of(spec.agent, "output") for spec in specs]
    return [kind for kind in given if kind is not None and not isinstance(kind, dict)]


def _check_names(specs: list[Spec]) -> None:
    seen: set[str] = set()
    for spec in specs:
        if spec.name in seen:
            raise ValidationError(
                f"two agents of the team have the same name: {spec.name}",
                code="team_invalid",
                details={"name": spec.name},
                hint=f'rename one: `{type(spec.agent).__name__}(name="...")`',
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


def _check_reach(ways: Ways, specs: list[Spec], settings: Settings) -> None:
    """Reports an agent that nothing leads to, where all that leads anywhere is known."""
    free = any(spec.act is not None for spec in specs)
    if free or any(route.targets is None for route in ways.routes):
        return
    targets = {target for _, target in ways.known_edges()}
    targets |= {str(spec.on_error) for spec in specs} | {settings.on_error}
    lost = [spec.name for spec in specs if spec.name not in targets]
    if lost:
        raise ValidationError(
            f"no path in `flow` leads to the agent: {lost[0]}",
            code="team_invalid",
            details={"name": lost[0]},
            hint="add an edge to it, or remove it",
        )


def _policies(settings: Settings, specs: list[Spec], roster: Roster) -> dict[str, str]:
    """What happens when an agent fails, for those where it is not raised."""
    found = {}
    for spec in specs:
        policy = spec.on_error or settings.on_error
        if policy not in _POLICIES:
            owner = f"agent `{spec.name}`" if spec.on_error else "the team"
            roster.declared(policy, f"`on_error` of {owner}")
        if policy not in ("raise", spec.name):
            found[spec.name] = policy
    return found


def _set_policy(builder: Builder, name: str, policy: str) -> None:
    if policy == "record":
        builder.on_error(name, "record", channel=RECORDED)
    else:
        builder.on_error(name, "goto", target=policy, channel=HANDED)


def _routing(route: Route, roster: Roster) -> Callable[[StateView], Any]:
    """A route as the engine calls it: it sees the state, and must name agents."""
    where = f"route `{route.label}` of agent `{route.source}`"

    def choose(shown: StateView) -> Any:
        chosen = route.choose(shown.state)
        for one in chosen if isinstance(chosen, list | tuple) else [chosen]:
            if not isinstance(one, str | Send):
                raise StateError(
                    f"{where} returned neither a name, a `Send` nor `END`: {one!r}",
                    code="target_unknown",
                    hint=f"the agents are {', '.join(roster)}",
                )
            roster.chosen(one.node if isinstance(one, Send) else one, where)
        return chosen

    return choose


def _hub(router: Spec | None, roster: Roster) -> list[tuple[str, str]]:
    return [(router.name, name) for name in (*roster, END)] if router else []
