"""`StateGraph`: collecting nodes and edges, and compiling them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self, Unpack, cast, overload

from antiphon._graph_errors import GraphBuildError
from antiphon._thread_store import saver_of
from antiphon._type_params import Generic, InputT, StateT
from antiphon.graph._assemble import assemble
from antiphon.graph._breakpoints import read_stops
from antiphon.graph._declaration import (
    END,
    START,
    BranchSpec,
    GraphDeclaration,
    NodeOptions,
    NodeSpec,
    name_of,
    read_retry,
    read_timeout,
    state_hint,
)
from antiphon.graph._missing_options import refuse_missing, unknown_option
from antiphon.graph._runnable import coerce_to_node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Saver
    from antiphon.graph._breakpoints import Stops
    from antiphon.graph._compiled import CompiledGraph
    from antiphon.graph._declaration import Retry, Timeout

_log = logging.getLogger("antiphon.graph")


class StateGraph(GraphDeclaration, Generic[StateT, InputT]):
    """A graph of nodes that read and write a shared state. Compile it to run it.

    Args:
        state_schema: what the state holds: a TypedDict, a dataclass or a pydantic model,
            whose fields may be ``Annotated[type, reducer]``; or a bare type for a state that
            is one value.
        context_schema: the class of ``runtime.context``. Default: none.
        input_schema: the input of the graph. Default: the state.
        output_schema: the output of the graph. Default: the state.

    Raises:
        GraphBuildError: a reducer is wrong, or two schemas disagree about a key.

    Example:
        >>> from typing import TypedDict
        >>> class State(TypedDict):
        ...     text: str
        >>> builder = StateGraph(State)
        >>> _ = builder.add_node("shout", lambda state: {"text": state["text"].upper()})
        >>> _ = builder.add_edge(START, "shout")
        >>> builder.compile().invoke({"text": "hello"})
        {'text': 'HELLO'}
    """

    @overload
    def __init__(
        self: StateGraph[StateT, StateT],
        state_schema: type[StateT],
        context_schema: type | None = ...,
        *,
        input_schema: None = ...,
        output_schema: Any = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: StateGraph[StateT, InputT],
        state_schema: type[StateT],
        context_schema: type | None = ...,
        *,
        input_schema: type[InputT],
        output_schema: Any = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        state_schema: Any,
        context_schema: type | None = ...,
        *,
        input_schema: Any = ...,
        output_schema: Any = ...,
    ) -> None: ...

    @refuse_missing
    def __init__(
        self,
        state_schema: Any,
        context_schema: type | None = None,
        *,
        input_schema: Any = None,
        output_schema: Any = None,
    ) -> None:
        super().__init__(state_schema, context_schema, input_schema, output_schema)
        self._compiled = False

    def add_node(self, node: Any, action: Any = None, **options: Unpack[NodeOptions]) -> Self:
        """Adds a node.

        Args:
            node: its name; or what `action` says, to be named after itself.
            action: what it runs: a function, method, partial or callable object, sync or
                async, that takes the state; a compiled graph; or an object with ``invoke``.
                With LangChain, also a dict of those. Of what a generator function yields, the
                sum counts, or the last one if they cannot be added, as dicts.
                It may have parameters ``config``, ``runtime`` and ``writer``, and returns a
                dict of the keys that change, a `Command`, or nothing.
            **options: see `NodeOptions`.

        Raises:
            GraphBuildError: the name is taken, reserved or missing, a timeout or retry policy
                is invalid, or the action is LangGraph's own `ToolNode`.
            TypeError: the action cannot be called.
        """
        self._touch("a node")
        name = node if isinstance(node, str) else name_of(node)
        action = coerce_to_node(action if isinstance(node, str) else node)
        if name is None:
            raise GraphBuildError(
                f"the name of the node is missing, and its function has none: {action!r}"
            )
        if action is None:
            raise GraphBuildError(f"a node needs something to run: {name}")
        if not callable(action) and not hasattr(action, "invoke"):
            kind = type(action).__name__
            raise TypeError(f"what node `{name}` runs must be callable, found: {kind}")
        self._check_name(name)
        unknown = set(options) - NodeOptions.__optional_keys__
        if unknown:
            raise unknown_option("add_node", unknown)
        spec = NodeSpec(name, action, options)
        spec.timeout(None)
        spec.retry(None)
        if spec.input_schema is not None:
            self.schema(spec.input_schema)
        self.nodes[name] = spec
        return self

    def add_edge(self, start_key: str | Sequence[str], end_key: str) -> Self:
        """Adds an edge from a node to its successor, or from several that must all have run.

        Args:
            start_key: the name of a node, or `START`; or a list of names, all of which must
                have been added, and must have run since the edge last led on.
            end_key: the name of a node, or `END`.

        Raises:
            GraphBuildError: an edge leads to `START` or leaves `END`; or one of several
                starts is unknown.
        """
        self._touch("an edge")
        starts = (start_key,) if isinstance(start_key, str) else tuple(start_key)
        if END in starts:
            raise GraphBuildError(f"an edge may not leave the end: {END}")
        if end_key == START:
            raise GraphBuildError(f"an edge may not lead to the start: {START}")
        if isinstance(start_key, str):
            self.edges[start_key, end_key] = None
            return self
        for start in starts:
            if start not in self.nodes:
                raise GraphBuildError(f"an edge begins at an unknown node: {start}")
        if not starts:
            raise GraphBuildError(f"an edge from several nodes needs at least one: {end_key}")
        self.joins.append((starts, end_key))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Callable[..., Any],
        path_map: Mapping[Any, str] | Sequence[str] | None = None,
    ) -> Self:
        """Adds a branch: a function of the state returns the successors of a node.

        Args:
            source: the node, or `START`.
            path: returns the name of a node, `END`, a `Send`, or a list of those; an empty
                list leads nowhere. It sees the state with the writes of `source`.
            path_map: what `path` returns, mapped to names; a list maps names to themselves.
                Default: the names in the ``Literal`` that `path` is annotated to return, else
                any names.

        Raises:
            GraphBuildError: `source` has a branch of the same name already.
        """
        self._touch("an edge")
        name = name_of(path) or "branch"
        name = "condition" if name == "<lambda>" else name
        taken = {branch.name for branch in self.branches if branch.source == source}
        if name == "condition":
            count = sum(other.startswith(name) for other in taken)
            name = f"{name}_{count + 1}" if count else name
        elif name in taken:
            raise GraphBuildError(f"two branches of `{source}` have the same name: {name}")
        hint = state_hint(path)
        if hint is not None:
            self.schema(hint)
        self.branches.append(BranchSpec.read(source, name, path, path_map))
        return self

    def add_sequence(self, nodes: Sequence[Any]) -> Self:
        """Adds nodes that run in order.

        Args:
            nodes: actions, or pairs of a name and an action.

        Raises:
            GraphBuildError: there is none, or as `add_node`.
        """
        if not nodes:
            raise GraphBuildError("a sequence needs at least one node: []")
        previous: str | None = None
        for node in nodes:
            name, action = node if isinstance(node, tuple) else (name_of(node), node)
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    def set_entry_point(self, key: str) -> Self:
        """Adds an edge from `START`."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self,
        path: Callable[..., Any],
        path_map: Mapping[Any, str] | Sequence[str] | None = None,
    ) -> Self:
        """Adds a branch at `START`."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> Self:
        """Adds an edge to `END`."""
        return self.add_edge(key, END)

    def set_node_defaults(
        self,
        *,
        retry_policy: Retry | None = None,
        timeout: Timeout | None = None,
        error_handler: Callable[..., Any] | None = None,
    ) -> Self:
        """Sets options for all nodes without their own, added before or after.

        Nested graphs do not inherit them. See `NodeOptions` for what they mean.

        Raises:
            GraphBuildError: a timeout or retry policy is invalid.
        """
        read_timeout(timeout, "all nodes")
        read_retry(retry_policy, "all nodes")
        given: NodeOptions = {
            "retry_policy": retry_policy,
            "timeout": timeout,
            "error_handler": error_handler,
        }
        self.defaults = given
        return self

    @refuse_missing
    def compile(
        self,
        checkpointer: Saver | str | None = None,
        *,
        interrupt_before: Stops = None,
        interrupt_after: Stops = None,
        name: str | None = None,
        strict: bool = False,
        limits: Mapping[str, float] | None = None,
    ) -> CompiledGraph[StateT, InputT]:
        """Checks the graph and freezes it. Later changes of the builder do not reach it.

        Args:
            checkpointer: the store of its threads: a saver of `antiphon.checkpoint`, or its URL:
                ``memory:``, or ``sqlite:`` and a file. Default: none.
            interrupt_before: the nodes before which runs stop, or ``*`` for all. A run that
                stopped continues by ``invoke(None, config)``. Default: none.
            interrupt_after: the nodes after which runs stop, likewise. Default: none.
            name: the graph's name. Default: ``graph``.
            strict: whether keys and targets that do not exist are errors while the graph
                runs, rather than ignored.
            limits: the budget of each run: ``model_calls``, ``tool_calls``, ``input_tokens``,
                ``output_tokens``, ``retries``, and ``wall_time`` in seconds. A run that exceeds
                one of them ends with `BudgetError`. Default: no limits; supersteps are limited by
                the config's ``recursion_limit``.

        Raises:
            GraphBuildError: no edge leaves `START`, or an edge or a breakpoint names an unknown
                node.
        """
        before = read_stops(interrupt_before, "interrupt_before", self.nodes)
        after = read_stops(interrupt_after, "interrupt_after", self.nodes)
        saver = saver_of(checkpointer)
        options: dict[str, Any] = {"strict": strict, "limits": limits or {}, "saver": saver}
        graph: Any = assemble(self, name or "graph", **options)
        graph.interrupt_before_nodes = before
        graph.interrupt_after_nodes = after
        self._compiled = True
        return cast("CompiledGraph[StateT, InputT]", graph)

    if not TYPE_CHECKING:  # checkers report it themselves

        def __getattr__(self, name: str) -> Any:
            from antiphon.graph._compiled import CompiledGraph

            kind = type(self).__name__
            advice = "; call `compile()` first" if hasattr(CompiledGraph, name) else ""
            raise AttributeError(f"a {kind} has no attribute: {name}{advice}")

    def _check_name(self, name: str) -> None:
        if name in (START, END):
            raise GraphBuildError(f"a node has a reserved name: {name}")
        if name in self.nodes:
            raise GraphBuildError(f"two nodes have the same name: {name}")
        for mark in "|:":
            if mark in name:
                raise GraphBuildError(f"the name of a node may not hold `{mark}`: {name}")

    def _touch(self, what: str) -> None:
        if self._compiled:
            _log.warning("the compiled graph does not change with its builder, added: %s", what)
