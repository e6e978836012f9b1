"""What one key of a state is: how writes to it are merged, and what it holds at first."""

from __future__ import annotations

import collections.abc
import inspect
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Required, get_args, get_origin

from antiphon.graph._faults import GraphBuildError
from antiphon.graph._reducers import append

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Channel", "read_channel"]

_Reducer = collections.abc.Callable[[Any, Any], Any]

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


@dataclass(frozen=True, slots=True)
class Channel:
    """One key of a state.

    Attributes:
        name: the key.
        reducer: joins what is there with what is written; none replaces it.
        factory: makes the first value; none leaves the key absent.
    """

    name: str
    reducer: _Reducer | None = None
    factory: Callable[[], Any] | None = None

    @property
    def merge(self) -> str | _Reducer:
        """The engine's rule, or the reducer itself."""
        if self.reducer is None:
            return "set"
        if self.reducer is append:
            return "append"
        # Objects with a `+` of their own are left to it.
        added = self.reducer in (operator.add, operator.iadd) and self.factory is not None
        return "add" if added and type(self.start()["default"]) in _ADDED else self.reducer

    def start(self) -> dict[str, Any]:
        """The engine's options for the value that a run begins with."""
        # The engine gives each run its own copy of a list, dict or set.
        return {} if self.factory is None else {"default": self.factory()}

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
    """Reads one field of a schema.

    Args:
        name: the key.
        annotation: its type; ``Annotated[T, reducer]`` gives it a reducer, which must be
            the last item of the metadata.

    Raises:
        GraphBuildError: the reducer does not take two positional arguments.
    """
    plain, metadata = _unwrap(annotation)
    if not metadata or not callable(metadata[-1]):
        return Channel(name)
    reducer = metadata[-1]
    _check_arity(name, reducer)
    return Channel(name, reducer, _factory(plain))


def _unwrap(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type within `Annotated`, `Required` and `NotRequired`, and the metadata."""
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata = (*annotation.__metadata__, *metadata)
            annotation = annotation.__origin__
        elif origin in (Required, NotRequired):
            annotation = get_args(annotation)[0]
        else:
            return annotation, metadata


def _check_arity(name: str, reducer: _Reducer) -> None:
    try:
        signature = inspect.signature(reducer)
    except ValueError:  # some builtins have none
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if [parameter.kind in positional for parameter in signature.parameters.values()].count(
        True
    ) != _TAKES:
        raise GraphBuildError(
            f"invalid reducer signature of key `{name}`: {signature}",
            details={"key": name},
            hint="a reducer takes two values, what is there and what is written, and returns one",
        )


def _factory(annotation: Any) -> Callable[[], Any] | None:
    """The type itself, if it can be made without arguments."""
    origin = get_origin(annotation) or annotation
    kind = _CONCRETE.get(origin, annotation)
    if not callable(kind):
        return None
    try:
        kind()
    except Exception:  # noqa: BLE001 - whatever a constructor raises, it cannot be used
        return None
    made: Callable[[], Any] = origin if isinstance(origin, type) and kind is annotation else kind
    return made
