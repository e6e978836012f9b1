"""Lists, sets, tuples and mappings."""

from __future__ import annotations

import collections
from collections import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._schema.shape import Path, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from antiphon._schema.definitions import Definitions, JsonSchema

_SEQUENCES = (abc.Collection, abc.Iterable, abc.MutableSequence, abc.Reversible, abc.Sequence)
ARRAYS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    **dict.fromkeys((list, *_SEQUENCES), list),
    collections.deque: collections.deque,
    tuple: tuple,
}
SETS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    **dict.fromkeys((set, abc.MutableSet, abc.Set), set),
    frozenset: frozenset,
}
MAPPINGS: dict[Any, Callable[[dict[Any, Any]], Any]] = {
    **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), dict),
    collections.OrderedDict: collections.OrderedDict,
}
"""Container types, each with the constructor of its values."""


@dataclass(slots=True)
class Array(Shape):
    """Any number of items of one type."""

    item: Shape
    make: Callable[[Iterable[Any]], Any]
    unique: bool = False
    noun: str = "a list"

    def schema(self, definitions: Definitions) -> JsonSchema:
        schema: JsonSchema = {"type": "array", "items": self.item.schema(definitions)}
        return {**schema, "uniqueItems": True} if self.unique else schema

    def build(self, value: Any, path: Path) -> Any:
        if not isinstance(value, list | tuple):
            raise self.misfit(path, value)
        items = [self.item.build(item, (*path, at)) for at, item in enumerate(value)]
        try:
            return self.make(items)
        except TypeError as error:  # an item of a set is not hashable
            raise self.misfit(path, value) from error


@dataclass(slots=True)
class TupleShape(Shape):
    """A tuple with a type for each position."""

    items: list[Shape]

    @property
    def noun(self) -> str:  # type: ignore[override]
        return f"a list of {len(self.items)}"

    def schema(self, definitions: Definitions) -> JsonSchema:
        size = len(self.items)
        schema: JsonSchema = {"type": "array", "minItems": size, "maxItems": size}
        if self.items:
            schema["prefixItems"] = [item.schema(definitions) for item in self.items]
        return schema

    def build(self, value: Any, path: Path) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(self.items):
            raise self.misfit(path, value)
        pairs = enumerate(zip(self.items, value, strict=True))
        return tuple(shape.build(item, (*path, at)) for at, (shape, item) in pairs)


@dataclass(slots=True)
class Table(Shape):
    """Keys of one type, values of another."""

    key: Shape
    value: Shape
    make: Callable[[dict[Any, Any]], Any]
    noun: str = "an object"

    def schema(self, definitions: Definitions) -> JsonSchema:
        schema: JsonSchema = {"type": "object"}
        if names := self.key.key_schema():
            schema["propertyNames"] = names
        if values := self.value.schema(definitions):
            schema["additionalProperties"] = values
        return schema

    def build(self, value: Any, path: Path) -> Any:
        if not isinstance(value, dict):
            raise self.misfit(path, value)
        entries = {}
        for name, item in value.items():
            key = self.key.build_key(name, (*path, name))
            entries[key] = self.value.build(item, (*path, name))
        return self.make(entries)
