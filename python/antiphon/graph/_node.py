"""Nodes and branches as the builder collects them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_origin, get_type_hints

from antiphon._antiphon import Command, RetryPolicy
from antiphon.graph._inject import is_runnable
from antiphon.graph._timeout import Timeout, read_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BranchSpec",
    "Destinations",
    "NodeOptions",
    "NodeSpec",
    "Retry",
    "name_of",
    "state_hint",
]

Retry = RetryPolicy | Sequence[RetryPolicy]
Destinations = Mapping[str, str] | Sequence[str]


class NodeOptions(TypedDict, total=False):
    """What `StateGraph.add_node` takes by name.

    Attributes:
        defer: run only when nothing else is left to run. Default: false.
        inline: run a sync callable on the event loop, without a thread; for short ones.
            Default: false.
        metadata: notes that drawings show under the name. Default: none.
        input_schema: the part of the state that the node gets. Default: what its first
            parameter is annotated with, else the whole state.
        retry_policy: when to try again, one policy or several, of which the first that
            covers the exception counts. Default: the graph's, else a single attempt.
        timeout: the longest an attempt may take, in seconds or as a timedelta, or a
            `TimeoutPolicy`. Default: the graph's, else no limit.
        error_handler: runs in the node's place when no attempt is left; it gets the node's
            input, and the failure as ``error: NodeError``. Default: the graph's, else none.
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
    """A node as it was added."""

    name: str
    action: Any
    options: NodeOptions = field(default_factory=NodeOptions)

    @property
    def input_schema(self) -> type | None:
        """The class that says what part of the state it gets; none for the whole."""
        return self.options.get("input_schema") or state_hint(self.action)

    def leads_to(self) -> Mapping[str, str]:
        """Where its commands may lead, with labels."""
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
        return read_timeout(default if given is None else given, self.name)


@dataclass(frozen=True, slots=True)
class BranchSpec:
    """A conditional edge as it was added."""

    source: str
    name: str
    path: Any
    ends: Mapping[Any, str] | None

    @classmethod
    def read(
        cls, source: str, name: str, path: Any, path_map: Mapping[Any, str] | Sequence[str] | None
    ) -> BranchSpec:
        """Reads the targets off the path map, or off a ``Literal`` that the path returns."""
        if path_map is None:
            hint = _returns(path)
            path_map = list(get_args(hint)) if get_origin(hint) is Literal else None
        if isinstance(path_map, Mapping):
            return cls(source, name, path, dict(path_map))
        ends = None if path_map is None else {target: target for target in path_map}
        return cls(source, name, path, ends)

    def drawn(self) -> Mapping[str, str]:
        """Targets with labels, for drawings; empty if they cannot be known."""
        return {target: str(label) for label, target in (self.ends or {}).items()}


def name_of(action: Any) -> str | None:
    """What a node is called that was added without a name."""
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
