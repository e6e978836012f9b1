"""What values of LangGraph's checkpoints may be, and how they are stored."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Values
from antiphon._serialization.catalog import codec_of
from antiphon._serialization.registry import GLOBAL, Registry
from antiphon._serialization.standard_types import PlainSubclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from antiphon._antiphon import TypeCodec

NAME = "antiphon"
"""The type that stands beside bytes of `Serializer`."""


class LenientRegistry(Registry):
    """A registry that takes subclasses of plain types for these, as LangGraph does.

    Example:
        >>> class Words(str): ...
        >>> LenientRegistry().codec_of(Words)
        TypeCodec(25)
    """

    def codec_of(self, kind: type) -> TypeCodec | None:
        """How objects of a type are stored, or none if they cannot be."""
        return super().codec_of(kind) or _as_plain(kind)

    def pickling(self) -> Registry:
        """The same registry, which pickles what it does not know."""
        return LenientRegistry(self, pickles=True)

    def adopt_named(self, names: Iterable[tuple[str, ...]]) -> None:
        """Adopts types that LangGraph has found in the schemas of a graph.

        Args:
            names: module and name of each; what is not imported is left out.
        """
        for name in names:
            kind = getattr(sys.modules.get(".".join(name[:-1])), name[-1], None)
            if isinstance(kind, type):
                self.adopt(kind)


class Serializer:
    """The form in which antiphon stores values, as LangGraph's protocol for serializers has it.

    Args:
        registry: the types beyond Python's own plain ones.
    """

    def __init__(self, registry: LenientRegistry) -> None:
        self.registry = registry
        self._values = Values(registry)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """A value as bytes."""
        return NAME, self._values.pack(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value that bytes were made of.

        Raises:
            ValueError: they were made by another serializer.
        """
        name, packed = data
        if name != NAME:
            raise ValueError(f"a value was stored by another serializer: {name}")
        return self._values.unpack(packed)


def registry_of(types: Iterable[Any]) -> LenientRegistry:
    """The registry of a saver: everything registered, and what some schemas mention."""
    registry = LenientRegistry(GLOBAL)
    for schema in types:
        registry.adopt(schema)
    return registry


def _as_plain(kind: type) -> TypeCodec | None:
    is_plain = issubclass(kind, PlainSubclass.TYPES) and not issubclass(kind, Enum)
    return codec_of(PlainSubclass) if is_plain else None
