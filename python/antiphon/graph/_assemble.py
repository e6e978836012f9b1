"""From a builder's nodes and edges to the engine's graph."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Builder, Limits
from antiphon._diagram import Diagram, DiagramEdge
from antiphon._graph_errors import GraphBuildError, as_graph_error
from antiphon.errors import ValidationError
from antiphon.graph._action import Action, read_action, read_router, returning_root
from antiphon.graph._compiled import CompiledGraph
from antiphon.graph._declaration import END, START, NodeSpec, state_hint
from antiphon.graph._input import adapt
from antiphon.graph._managed_values import with_managed
from antiphon.graph._plan import GraphPlan
from antiphon.graph._runnable import as_runnable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon._antiphon import Saver
    from antiphon._state_schema import Schema
    from antiphon.graph._declaration import BranchSpec, GraphDeclaration

_HANDLER = "__error_handler__"
_DEFAULT_HANDLER = "__default_error_handler__"


def assemble(
    graph: GraphDeclaration,
    name: str,
    *,
    strict: bool,
    limits: Mapping[str, float],
    saver: Saver | None,
) -> CompiledGraph:
    """Compiles a graph.

    Raises:
        GraphBuildError: as `StateGraph.compile`.
    """
    builder = Builder(
        name,
        by_name=True,
        own_sight=True,
        lenient=not strict,
        exclusive=True,
        full_output=True,
        adapt=adapt,
    )
    for channel in graph.channels.values():
        builder.channel(channel.name, channel.merge, **channel.start())
    for spec in graph.nodes.values():
        _add_node(builder, graph, spec, kept=saver is not None)
    for source, target in graph.edges:
        builder.edge(source, target)
    for sources, target in graph.joins:
        builder.join(sources, target)
    for branch in graph.branches:
        _add_branch(builder, graph, branch)
    _add_handlers(builder, graph)
    try:
        engine = builder.build()
    except ValidationError as error:
        error.hint = error.hint or _way_out(graph)
        raise as_graph_error(error) from None
    plan = GraphPlan(
        name=name,
        input=graph.input,
        output=graph.output,
        keys=frozenset(graph.channels),
        nodes=tuple(graph.nodes),
        diagram=_drawing(graph),
        context_schema=graph.context_schema,
        limits=_limits(limits),
        schemas=_kinds(graph),
        tracks_progress=any(_tracks_progress(graph, spec) for spec in graph.nodes.values()),
    )
    compiled = as_runnable(CompiledGraph)(engine, plan)
    compiled.checkpointer = saver
    return compiled


def _way_out(graph: GraphDeclaration) -> str | None:
    """What to write in place of the first unknown node, or to begin at one."""
    edges = list(_edges(graph))
    named = [name for edge in edges for name in (edge.source, edge.target)]
    known = list(graph.nodes)
    unknown = next((name for name in named if name not in {*known, START, END}), None)
    if unknown is not None and known:
        near = get_close_matches(unknown, known, 1)
        return f"did you mean `{near[0]}`?" if near else f"its nodes are {', '.join(known)}"
    if known and all(edge.source != START for edge in edges):
        return f"add an edge to the first node, for instance `add_edge(START, {known[0]!r})`"
    return None


def _drawing(graph: GraphDeclaration) -> Diagram:
    """The drawing of a builder's graph."""
    edges = list(dict.fromkeys(_edges(graph)))
    sources = {edge.source for edge in edges}
    edges += [DiagramEdge(name, END) for name in graph.nodes if name not in sources]
    nodes: dict[str, Mapping[str, Any]] = {START: {}}
    for name, spec in graph.nodes.items():
        notes = dict(spec.options.get("metadata") or {})
        nodes[name] = {**notes, "defer": True} if spec.options.get("defer") else notes
    if any(edge.target == END for edge in edges):
        nodes[END] = {}
    return Diagram(nodes, tuple(edges))


def _edges(graph: GraphDeclaration) -> Iterator[DiagramEdge]:
    for source, target in graph.edges:
        yield DiagramEdge(source, target)
    for sources, target in graph.joins:
        for source in sources:
            yield DiagramEdge(source, target)
    for branch in graph.branches:
        for target, label in branch.labelled_targets().items():
            shown = "" if label == target else label
            yield DiagramEdge(branch.source, target, shown, conditional=True)
    for spec in graph.nodes.values():
        for target, label in spec.leads_to().items():
            yield DiagramEdge(spec.name, target, label, conditional=True)


def _limits(given: Mapping[str, float]) -> Limits:
    try:
        return Limits(**given)
    except ValueError as error:
        raise GraphBuildError(str(error), code="call_invalid") from None


def _add_node(builder: Builder, graph: GraphDeclaration, spec: NodeSpec, *, kept: bool) -> None:
    shared: dict[str, Any] = {"deferred": spec.options.get("defer", False)}
    shared |= spec.retry(graph.defaults.get("retry_policy"))
    shared |= spec.timeout(graph.defaults.get("timeout"))
    is_graph = isinstance(spec.action, CompiledGraph)
    nested = spec.action.engine_for(kept=kept) if is_graph else None
    if nested is not None and not graph.state.is_root:
        builder.subgraph(spec.name, nested, **shared)
        return
    kind = spec.input_schema
    schema = graph.state if kind is None else graph.schema(kind)
    action = _action(graph, spec.action)
    inline = spec.options.get("inline", False)
    _put(builder, spec.name, *_viewing(graph, action, schema), {**shared, "inline": inline})


def _kinds(graph: GraphDeclaration) -> tuple[Any, ...]:
    """What the schemas of the graph, and of the graphs in it, were read from."""
    kinds = [schema.kind for schema in graph.schemas]
    for spec in graph.nodes.values():
        if isinstance(spec.action, CompiledGraph):
            kinds += spec.action.schemas
    return tuple(kinds)


def _tracks_progress(graph: GraphDeclaration, spec: NodeSpec) -> bool:
    if isinstance(spec.action, CompiledGraph) and spec.action.tracks_progress:
        return True
    return spec.timeout(graph.defaults.get("timeout")).get("heartbeat_only") is False


def _add_branch(builder: Builder, graph: GraphDeclaration, branch: BranchSpec) -> None:
    kind = state_hint(branch.path)
    schema = graph.state if kind is None else graph.schema(kind)
    router, options = _viewing(graph, read_router(branch.path), schema)
    if router.wants_ctx:
        options["wants_ctx"] = True
    if branch.ends is not None:
        options["ends"] = dict(branch.ends)
    builder.branch(branch.source, branch.name, router.call, **options)


def _add_handlers(builder: Builder, graph: GraphDeclaration) -> None:
    default = graph.defaults.get("error_handler")
    served = False
    for spec in graph.nodes.values():
        own = spec.options.get("error_handler")
        if own is not None:
            handler = f"{_HANDLER}{spec.name}"
            _add_handler(builder, graph, handler, own)
            builder.on_error(spec.name, "handle", target=handler)
        elif default is not None:
            if not served:
                _add_handler(builder, graph, _DEFAULT_HANDLER, default)
                served = True
            builder.on_error(spec.name, "handle", target=_DEFAULT_HANDLER)


def _add_handler(builder: Builder, graph: GraphDeclaration, name: str, handler: Any) -> None:
    options: dict[str, Any] = dict(graph.defaults)
    options.pop("error_handler", None)
    spec = NodeSpec(name, handler)
    kind = spec.input_schema
    schema = graph.state if kind is None else graph.schema(kind)
    shared = spec.retry(graph.defaults.get("retry_policy"))
    shared |= spec.timeout(graph.defaults.get("timeout"))
    _put(builder, name, *_viewing(graph, _action(graph, handler), schema), shared)


def _action(graph: GraphDeclaration, action: Any) -> Action:
    read = _nested(action) if isinstance(action, CompiledGraph) else read_action(action)
    return returning_root(read) if graph.state.is_root else read


def _nested(graph: CompiledGraph) -> Action:
    """A graph that the engine cannot take in as it is, as an action that invokes it."""
    return Action(graph.ainvoke, wants_ctx=False, asynchronous=True)


def _viewing(
    graph: GraphDeclaration, action: Action, schema: Schema
) -> tuple[Action, dict[str, Any]]:
    """An action and the engine's option by which it gets the keys of its schema."""
    view = schema.view(graph.channels)
    if schema.managed:
        action, view = with_managed(action, schema.managed, view)
    return action, {} if view is None else {"view": view}


def _put(
    builder: Builder, name: str, action: Action, view: dict[str, Any], options: dict[str, Any]
) -> None:
    builder.node(
        name,
        action.call,
        wants_ctx=action.wants_ctx,
        asynchronous=action.asynchronous,
        **view,
        **options,
    )
