"""State schemas: a TypedDict, a dataclass, a pydantic model, or a bare type for one root value."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from antiphon.graph._channel import Channel, read_channel
from antiphon.graph._faults import GraphBuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["ROOT", "Schema", "annotated_keys", "has_fields", "is_model", "read_schema"]

ROOT = "__root__"
"""The key of a state that is one bare value."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a schema says about the state.

    Attributes:
        kind: the class or type that the user gave.
        channels: its keys, in order.
        makes: whether nodes get an instance of `kind` rather than a dict.
    """

    kind: Any
    channels: dict[str, Channel] = field(default_factory=dict)
    makes: bool = False

    @property
    def is_root(self) -> bool:
        """Whether the state is one bare value."""
        return ROOT in self.channels

    def made(self, state: Any) -> Any:
        """An instance of `kind`, if a state can be made into one, else the state."""
        if not self.makes or not isinstance(state, dict):
            return state
        try:
            return self.kind(**{key: state[key] for key in self.channels if key in state})
        except (TypeError, ValueError):  # a field is missing, or a value does not fit yet
            return state

    def view(self, every: Iterable[str]) -> Callable[[dict[str, Any]], Any] | None:
        """Makes a node's input from the state.

        Args:
            every: all keys of the graph.

        Returns:
            A function of the state as a dict, or none if the state itself will do.
        """
        keys = tuple(self.channels)
        if self.is_root:
            return lambda state: state.get(ROOT)
        if self.makes:
            kind = self.kind
            return lambda state: kind(**{key: state[key] for key in keys if key in state})
        if set(keys) >= set(every):
            return None
        return lambda state: {key: state[key] for key in keys if key in state}


def read_schema(kind: Any) -> Schema:
    """Reads a schema.

    Args:
        kind: a TypedDict, a dataclass, a pydantic model, another annotated class, or a
            type such as ``list[int]`` or ``Annotated[int, operator.add]`` for a bare state.

    Raises:
        GraphBuildError: a reducer is wrong, or a key has a reserved name.
        NameError: an annotation names something that its module does not know.
    """
    if not has_fields(kind):
        return Schema(kind, {ROOT: read_channel(ROOT, kind)})
    hints = get_type_hints(kind, include_extras=True)
    channels = {name: read_channel(name, hint) for name, hint in hints.items() if _is_key(name)}
    if ROOT in channels:
        raise GraphBuildError(f"a key of the state has a reserved name: {ROOT}")
    return Schema(kind, channels, makes=is_model(kind) or is_dataclass(kind))


def has_fields(kind: Any) -> bool:
    """Whether a schema is a class with annotated fields."""
    return isinstance(kind, type) and hasattr(kind, "__annotations__")


def is_model(kind: type) -> bool:
    """Whether a class is a pydantic model; pydantic is not imported to find out."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)


def annotated_keys(kind: type) -> tuple[str, ...]:
    """The names of a class's annotated fields, those of its bases first."""
    found: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        found.update(inspect.get_annotations(base))
    return tuple(key for key in found if _is_key(key))


def _is_key(name: str) -> bool:
    return name not in {"__slots__", "model_config"}
