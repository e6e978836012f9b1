"""A graph as it is declared: its nodes, edges and branches, and the keys of its state."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_origin, get_type_hints

from antiphon._antiphon import Command, RetryPolicy
from antiphon._graph_errors import GraphBuildError
from antiphon._state_schema import Channel, Schema, read_schema
from antiphon._validation import is_count, is_seconds
from antiphon.graph._action import is_runnable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START = "__start__"
"""Where a graph begins; the source of its first edges."""

END = "__end__"
"""Where a path ends; the target of its last edge."""

Retry = RetryPolicy | Sequence[RetryPolicy]
Destinations = Mapping[str, str] | Sequence[str]


class NodeOptions(TypedDict, total=False):
    """The options of `StateGraph.add_node`.

    Attributes:
        defer: run only when no other node is left to run. Default: false.
        inline: run a sync callable on the event loop, without a thread; for short ones.
            Default: false.
        metadata: notes that drawings show under the name. Default: none.
        input_schema: the part of the state that the node gets. Default: what its first
            parameter is annotated with, else the whole state.
        retry_policy: when to try again, one policy or several, of which the first that
            covers the exception counts. Default: the graph's, else a single attempt.
        timeout: the longest an attempt may take, in seconds or as a timedelta, or a
            `TimeoutPolicy`. Default: the graph's, else no limit.
        error_handler: runs after the last failed attempt, with the node's input and the failure
            as ``error: NodeError``. Default: the graph's, else none.
        destinations: where a returned `Command` may lead, for drawings: names, or a dict
            from names to labels. Default: what ``Command[Literal[...]]`` says.
    """

    defer: bool
    inline: bool
    metadata: Mapping[str, Any] | None
    input_schema: type | None
    retry_policy: Retry | None
    timeout: Timeout | None
    error_handler: Callable[..., Any] | None
    destinations: Destinations | None


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """An added node."""

    name: str
    action: Any
    options: NodeOptions = field(default_factory=NodeOptions)

    @property
    def input_schema(self) -> type | None:
        """The schema of the node's input; ``None`` for the whole state."""
        return self.options.get("input_schema") or state_hint(self.action)

    def leads_to(self) -> Mapping[str, str]:
        """The targets of its commands, with labels."""
        given = self.options.get("destinations")
        if given is None:
            return dict.fromkeys(_commanded(_returns(self.action)), "")
        return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, "")

    def timeout(self, default: Timeout | None) -> dict[str, Any]:
        """The engine's options for its time-outs.

        Raises:
            GraphBuildError: a time-out is not above 0.
        """
        given = self.options.get("timeout")
        return read_timeout(default if given is None else given, f"node `{self.name}`")

    def retry(self, default: Retry | None) -> dict[str, Any]:
        """The engine's option for when to try again.

        Raises:
            GraphBuildError: it is not a policy.
        """
        given = self.options.get("retry_policy")
        policy = read_retry(default if given is None else given, f"node `{self.name}`")
        return {} if policy is None else {"retry": policy}


@dataclass(frozen=True, slots=True)
class BranchSpec:
    """An added conditional edge."""

    source: str
    name: str
    path: Any
    ends: Mapping[Any, str] | None

    @classmethod
    def read(
        cls, source: str, name: str, path: Any, path_map: Mapping[Any, str] | Sequence[str] | None
    ) -> BranchSpec:
        """Reads the targets from the path map, or from the ``Literal`` that the path returns.

        Raises:
            GraphBuildError: the path map is a text.
        """
        if isinstance(path_map, str):
            raise GraphBuildError(
                f"`path_map` of a branch of `{source}` must be a dict or a list of names: "
                f"{path_map!r}",
                hint=f"pass a list: [{path_map!r}]",
            )
        if path_map is None:
            hint = _returns(path)
            path_map = list(get_args(hint)) if get_origin(hint) is Literal else None
        if isinstance(path_map, Mapping):
            return cls(source, name, path, dict(path_map))
        ends = None if path_map is None else {target: target for target in path_map}
        return cls(source, name, path, ends)

    def labelled_targets(self) -> Mapping[str, str]:
        """The targets with labels, for diagrams; empty if they are unknown."""
        return {target: str(label) for label, target in (self.ends or {}).items()}


def name_of(action: Any) -> str | None:
    """The name of a node that was added without one."""
    if is_runnable(action):
        get_name = getattr(action, "get_name", None)
        found = get_name() if callable(get_name) else getattr(action, "name", None)
    else:
        found = getattr(action, "__name__", None) or type(action).__name__
    return None if found is None else str(found)


def state_hint(action: Any) -> type | None:
    """The class with fields that the first parameter is annotated with, if it is one."""
    function = _function(action)
    if function is None:
        return None
    try:
        first = next(iter(inspect.signature(action).parameters), None)
        hint = get_type_hints(function).get(first or "")
        usable = isinstance(hint, type) and bool(get_type_hints(hint))
    except (NameError, TypeError, ValueError):  # hints that cannot be read say nothing
        return None
    return hint if usable else None


def _function(action: Any) -> Callable[..., Any] | None:
    """The function whose annotations describe an action."""
    while isinstance(action, functools.partial):
        action = action.func
    if inspect.isfunction(action) or inspect.ismethod(action):
        return action
    method = getattr(action, "__call__", None)  # noqa: B004 - the method itself is wanted
    return method if inspect.ismethod(method) else None


def _returns(action: Any) -> Any:
    function = _function(action)
    try:
        return get_type_hints(function).get("return") if function else None
    except (NameError, TypeError):
        return None


def _commanded(hint: Any) -> Iterator[str]:
    """The names in ``Command[Literal[...]]``, also within a union."""
    if get_origin(hint) is Command:
        for argument in get_args(hint):
            yield from (str(name) for name in get_args(argument))
    elif hint is not None:
        for argument in get_args(hint):
            yield from _commanded(argument)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """Limits of one attempt of a node.

    Attributes:
        run_timeout: the longest it may take, in seconds or as a timedelta. Default: no limit.
        idle_timeout: the longest time without progress. Default: no limit.
        refresh_on: what counts as progress. ``auto``: a value for the stream, a callback of a
            LangChain component that the node calls, the end of a task of a nested graph, or a
            heartbeat; ``heartbeat``: only ``runtime.heartbeat()``. Default: ``auto``.
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"


Timeout = float | timedelta | TimeoutPolicy


def read_timeout(given: Timeout | None, owner: str) -> dict[str, Any]:
    """The engine's options for a time-out.

    Raises:
        GraphBuildError: it is not above 0, or `refresh_on` is unknown.
    """
    if given is None:
        return {}
    if not isinstance(given, TimeoutPolicy):
        given = TimeoutPolicy(run_timeout=given)
    if given.refresh_on not in ("auto", "heartbeat"):
        raise GraphBuildError(
            f"`refresh_on` of {owner} is `auto` or `heartbeat`, found: {given.refresh_on}"
        )
    options: dict[str, Any] = {}
    if given.run_timeout is not None:
        options["timeout"] = _seconds(given.run_timeout, "timeout", owner)
    if given.idle_timeout is not None:
        options["idle_timeout"] = _seconds(given.idle_timeout, "idle_timeout", owner)
        options["heartbeat_only"] = given.refresh_on == "heartbeat"
    return options


def read_retry(given: Any, owner: str) -> Retry | None:
    """A retry policy, or several.

    Raises:
        GraphBuildError: it is something else.
    """
    if given is None or isinstance(given, RetryPolicy):
        return given
    if isinstance(given, list | tuple) and all(isinstance(one, RetryPolicy) for one in given):
        return given
    hint = f"pass `RetryPolicy(max_attempts={given})`" if is_count(given) else None
    raise GraphBuildError(
        f"`retry_policy` of {owner} must be a `RetryPolicy` or a list of them: {given!r}",
        hint=hint,
    )


def _seconds(given: float | timedelta, name: str, owner: str) -> float:
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if not is_seconds(seconds):
        raise GraphBuildError(
            f"`{name}` of {owner} must be a number of seconds above 0, or a timedelta: {given!r}"
        )
    return float(seconds)


class GraphDeclaration:
    """The nodes, edges and branches of a graph, and its schemas."""

    def __init__(
        self, state_schema: Any, context_schema: type | None, input_schema: Any, output_schema: Any
    ) -> None:
        self.nodes: dict[str, NodeSpec] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.joins: list[tuple[tuple[str, ...], str]] = []
        self.branches: list[BranchSpec] = []
        self.channels: dict[str, Channel] = {}
        self.defaults: NodeOptions = {}
        self.context_schema = context_schema
        self._schemas: dict[Any, Schema] = {}
        self.state = self.schema(state_schema)
        self.input = self.state if input_schema is None else self.schema(input_schema)
        self.output = self.state if output_schema is None else self.schema(output_schema)

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """All schemas that were read."""
        return tuple(self._schemas.values())

    def schema(self, kind: Any) -> Schema:
        """Reads a schema and adds its keys to the state."""
        known = next((schema for schema in self._schemas.values() if schema.kind is kind), None)
        if known is not None:
            return known
        schema = read_schema(kind)
        for name, channel in schema.channels.items():
            old = self.channels.setdefault(name, channel)
            if old.clashes(channel):
                raise GraphBuildError(f"two schemas give a key different reducers: {name}")
        self._schemas[id(kind)] = schema
        return schema
