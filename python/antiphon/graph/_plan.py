"""The Python half of a compiled graph: schemas, diagram and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Limits
from antiphon._state_schema import ROOT, Schema

if TYPE_CHECKING:
    from antiphon._diagram import Diagram
    from antiphon._serialization.registry import Registry


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """The Python half of a compiled graph.

    Attributes:
        name: the graph's name.
        input: the schema of its input.
        output: the schema of its output.
        keys: all keys of its state.
        nodes: the names of its nodes.
        diagram: its diagram.
        context_schema: the type of its context, if it has one.
        limits: what each run may spend, supersteps apart.
        tracks_progress: whether a node has an idle time-out, those of nested graphs included.
        schemas: the classes that say what a state holds, those of nested graphs included.
    """

    name: str
    input: Schema
    output: Schema
    keys: frozenset[str]
    nodes: tuple[str, ...]
    diagram: Diagram
    context_schema: type | None = None
    limits: Limits = field(default_factory=Limits)
    tracks_progress: bool = False
    schemas: tuple[Any, ...] = ()
    output_keys: list[str] | None = field(init=False, repr=False, compare=False)
    """The keys that ``invoke`` returns; ``None`` for the whole state."""
    _registries: list[Registry] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        keys = self.output.channels
        shown = None if ROOT in keys or set(keys) == self.keys else list(keys)
        object.__setattr__(self, "output_keys", shown)

    def registry(self) -> Registry:
        """The types that a thread of the graph may hold."""
        if self._registries:
            return self._registries[0]
        # Most graphs have no threads.
        from antiphon._serialization.registry import registry_for

        registry = registry_for(*self.schemas)
        if registry.settled:
            self._registries.append(registry)
        return registry

    @property
    def is_plain(self) -> bool:
        """Whether input and output have all keys, so that the graph can be nested natively."""
        ends = (self.input, self.output)
        return ROOT not in self.keys and all(set(end.channels) == self.keys for end in ends)
