"""State schemas: TypedDicts, dataclasses, pydantic models, or a bare type for one root value."""

from __future__ import annotations

import collections.abc
import inspect
import operator
import sys
from dataclasses import dataclass, field, is_dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    get_args,
    get_origin,
    get_type_hints,
)

from antiphon._graph_errors import GraphBuildError
from antiphon.state import append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_Reducer = collections.abc.Callable[[Any, Any], Any]

EXTRAS = "__extras__"
"""The channel of a team whose state has no class: its value has the keys that agents add."""
_ADDED = (list, tuple, str, int, float)
_CONCRETE: dict[Any, type] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
_TAKES = 2
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly")
"""Names in ``typing``, or for older Pythons in ``typing_extensions``."""
_MANAGED = frozenset({"IsLastStepManager", "RemainingStepsManager"})
"""The names of classes that mark keys whose values a graph computes; LangGraph's own count too."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One key of a state.

    Attributes:
        name: the key.
        reducer: joins what is there with what is written; none replaces it.
        factory: makes the first value; none leaves the key absent.
        takes_context: whether the reducer has a parameter ``context``.
    """

    name: str
    reducer: _Reducer | None = None
    factory: Callable[[], Any] | None = None
    takes_context: bool = False

    @property
    def merge(self) -> str | _Reducer:
        """The engine's rule, or the reducer itself."""
        if self.reducer is None:
            return "set"
        if self.reducer is append:
            return "append"
        # Objects that define `+` are merged by it.
        added = self.reducer in (operator.add, operator.iadd) and self.factory is not None
        return "add" if added and type(self.start()["default"]) in _ADDED else self.reducer

    def start(self) -> dict[str, Any]:
        """The engine's options for the value that a run begins with."""
        options: dict[str, Any] = {"takes_context": True} if self.takes_context else {}
        # The engine gives each run its own copy of a list, dict or set.
        return options if self.factory is None else {**options, "default": self.factory()}

    def clashes(self, other: Channel) -> bool:
        """Whether `other`, found in a later schema, means something else by the same key."""
        if other.reducer is None:
            return False
        if self.reducer is None:
            return True
        lambdas = any(
            getattr(reducer, "__name__", "") == "<lambda>"
            for reducer in (self.reducer, other.reducer)
        )
        return not lambdas and self.reducer != other.reducer


def read_channel(name: str, annotation: Any) -> Channel:
    """One field of a schema; ``Annotated[T, ..., reducer]`` gives it a reducer.

    Raises:
        GraphBuildError: the reducer does not take two positional arguments.
    """
    plain, metadata = _unwrap(annotation)
    if not metadata or not callable(metadata[-1]):
        return Channel(name)
    reducer = metadata[-1]
    takes_context = _checked_arity(name, reducer)
    return Channel(name, reducer, _factory(plain), takes_context)


def _unwrap(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type within `Annotated` and what qualifies a field, and the metadata."""
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata = (*annotation.__metadata__, *metadata)
            annotation = annotation.__origin__
        elif getattr(origin, "_name", None) in _QUALIFIERS:
            annotation = get_args(annotation)[0]
        else:
            return annotation, metadata


def _checked_arity(name: str, reducer: _Reducer) -> bool:
    """Whether the reducer takes the run's context, as a keyword."""
    try:
        signature = inspect.signature(reducer)
    except ValueError:  # some builtins have none
        return False
    parameters = dict(signature.parameters)
    context = parameters.get("context")
    takes_context = context is not None and context.kind is inspect.Parameter.KEYWORD_ONLY
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kinds = [parameter.kind in positional for parameter in parameters.values()]
    if kinds.count(True) != _TAKES:
        raise GraphBuildError(
            f"invalid reducer signature of key `{name}`: {signature}",
            details={"key": name},
            hint="a reducer takes two values, what is there and what is written, and returns one; "
            "the run's context is a keyword: `def add(old, new, *, context)`",
        )
    return takes_context


def _factory(annotation: Any) -> Callable[[], Any] | None:
    """The type itself, if it can be made without arguments."""
    origin = get_origin(annotation) or annotation
    kind = _CONCRETE.get(origin, annotation)
    if not callable(kind):
        return None
    try:
        kind()
    except Exception:  # noqa: BLE001 - a constructor may raise anything; the type cannot be used
        return None
    made: Callable[[], Any] = origin if isinstance(origin, type) and kind is annotation else kind
    return made


ROOT = "__root__"
"""The key of a state that is one bare value."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a schema says about the state.

    Attributes:
        kind: the class or type that the user gave.
        channels: its keys, in order.
        makes: whether nodes get an instance of `kind` rather than a dict.
        managed: the keys whose values the graph computes, with the names of what marks them.
    """

    kind: Any
    channels: dict[str, Channel] = field(default_factory=dict)
    makes: bool = False
    managed: dict[str, str] = field(default_factory=dict)

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
        """A function from the state to a node's input; ``None`` if it is the state itself."""
        keys = (*self.channels, *self.managed)
        if self.is_root:
            return lambda state: state.get(ROOT)
        if self.makes:
            kind = self.kind
            return lambda state: kind(**{key: state[key] for key in keys if key in state})
        if set(keys) >= set(every):
            return None
        return lambda state: {key: state[key] for key in keys if key in state}


def read_schema(kind: Any) -> Schema:
    """A TypedDict, dataclass, pydantic model or annotated class; other types are a bare state.

    Raises:
        GraphBuildError: a reducer is wrong, or a key has a reserved name.
        NameError: an annotation names something that its module does not know.
    """
    if not has_fields(kind):
        return Schema(kind, {ROOT: read_channel(ROOT, kind)})
    hints = get_type_hints(kind, include_extras=True)
    managed = {name: mark for name, hint in hints.items() if (mark := _managed(hint)) is not None}
    stored = {name: hint for name, hint in hints.items() if _is_key(name) and name not in managed}
    channels = {name: read_channel(name, hint) for name, hint in stored.items()}
    if ROOT in channels:
        raise GraphBuildError(f"a key of the state has a reserved name: {ROOT}")
    return Schema(kind, channels, is_model(kind) or is_dataclass(kind), managed)


def _managed(annotation: Any) -> str | None:
    """The name of what marks a key as computed by the graph."""
    _, metadata = _unwrap(annotation)
    name = getattr(metadata[-1], "__name__", None) if metadata else None
    return name if name in _MANAGED else None


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


def fields_of_state(state: Any) -> dict[str, Any]:
    """A state as a dict: of a dict, or of an instance of a state class."""
    return state if isinstance(state, dict) else dict(vars(state))


def _is_key(name: str) -> bool:
    return name not in {"__slots__", "model_config"}
