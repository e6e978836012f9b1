"""The registry of types that a store may hold, and one for reading without the types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from antiphon._antiphon import TypeCodec
from antiphon._serialization import catalog, records
from antiphon._serialization.catalog import PICKLED
from antiphon._serialization.type_hints import types_in
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GLOBAL", "UNREAD", "Registry", "Unread", "name_of", "register", "registry_for"]


_T = TypeVar("_T", bound=type)

_NAMED = 7
"""The number of all named codecs."""


class Registry:
    """The types whose objects can be stored, with their codecs.

    Every registry has Python's own types, the data types of the standard library, arrays, tables
    and LangChain's messages. Other types are stored under a name; reading one requires that the
    name is registered.

    Args:
        outer: a registry whose names take precedence over adopted ones.
        pickles: whether objects of other types are pickled. Default: they cannot be stored.

    Attributes:
        settled: whether the adopted schemas always refer to the same types.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     price: int
        >>> registry = Registry()
        >>> registry.register(Order, name="order")
        >>> registry.codec_of(Order)
        TypeCodec(7, name="order")
    """

    def __init__(self, outer: Registry | None = None, *, pickles: bool = False) -> None:
        self._outer = outer
        self._pickles = pickles
        self.settled = True
        self._types: dict[type, TypeCodec] = {}
        self._names: dict[str, tuple[type, TypeCodec]] = {}

    def register(
        self,
        kind: type,
        *,
        name: str | None = None,
        pack: Callable[[Any], Any] | None = None,
        unpack: Callable[[Any], Any] | None = None,
    ) -> None:
        """Register a type; see `antiphon.checkpoint.register`."""
        name = name or name_of(kind)
        known = self._names.get(name)
        if known is not None and not _is_again(kind, known[0]):
            raise ValidationError(
                f"two types cannot be stored under one name: {name}",
                code="type_name_taken",
                details={"name": name},
                hint="pass another name: `register(type, name=...)`",
            )
        codec = _codec(kind, name, pack, unpack)
        self._types[kind] = codec
        self._names[name] = (kind, codec)

    def adopt(self, schema: Any) -> None:
        """Register the types in a schema, also nested ones.

        These are enums, dataclasses, pydantic models and named tuples. A type whose name is taken
        is skipped: it has to be registered explicitly.

        Args:
            schema: a class with annotations, or a type such as ``list[Order]``.
        """
        kinds, settled = types_in(schema)
        self.settled = self.settled and settled
        for kind in kinds:
            if kind in self._types or not records.is_record(kind):
                continue
            if name_of(kind) not in self._names and catalog.codec_of(kind) is None:
                self.register(kind)

    def pickling(self) -> Registry:
        """Return the same registry with pickling of unknown types."""
        return Registry(self, pickles=True)

    def codec_of(self, kind: type) -> TypeCodec | None:
        """Return the codec of a type; ``None`` if it cannot be stored."""
        known = self.registered(kind) or catalog.codec_of(kind) or catalog.codec_of_failure(kind)
        known = known or catalog.codec_of_text(kind)
        return known or (PICKLED if self._pickles else None)

    def codec_named(self, name: str) -> TypeCodec | None:
        """Return the codec of the type with a name."""
        owner = self.owner(name)
        return None if owner is None else owner[1]

    def registered(self, kind: type) -> TypeCodec | None:
        """Return the codec of a type, if it is registered or adopted."""
        codec = self._outer.registered(kind) if self._outer is not None else None
        if codec is not None or (codec := self._types.get(kind)) is None:
            return codec
        # `outer` may have registered another type under a name that was adopted here.
        owner = self.owner(codec.name or "")
        return codec if owner is not None and _is_again(kind, owner[0]) else None

    def owner(self, name: str) -> tuple[type, TypeCodec] | None:
        """Return the type with a name, and its codec."""
        owner = self._outer.owner(name) if self._outer is not None else None
        return owner or self._names.get(name)

    def codec_numbered(self, number: int) -> TypeCodec | None:
        """Return the codec with a number."""
        if number == PICKLED.kind:
            return PICKLED if self._pickles else None
        return catalog.codec_numbered(number)


GLOBAL = Registry()
"""The registry of `register`."""


def registry_for(*schemas: Any) -> Registry:
    """Return the registry of a graph: registered types, and those in its schemas."""
    registry = Registry(GLOBAL)
    for schema in schemas:
        registry.adopt(schema)
    return registry


@overload
def register(
    kind: _T,
    *,
    name: str | None = None,
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
) -> _T: ...
@overload
def register(
    *,
    name: str | None = None,
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
) -> Callable[[_T], _T]: ...
def register(
    kind: _T | None = None,
    *,
    name: str | None = None,
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
) -> _T | Callable[[_T], _T]:
    """Register a type, so that states with its objects can be stored.

    Types in the annotations of a state are registered automatically. An enum is stored by the
    name of its member; a dataclass, a pydantic model or a named tuple by its fields, and restored
    without running its ``__init__``; an exception by its arguments and attributes. When a stored
    object is read, fields that were added since have their default, and removed ones are dropped.

    Args:
        kind: the type; omit it to use this as a decorator with options.
        name: the name in the store; keep it when the class is renamed or moved. Default: the
            module and the qualified name.
        pack: for other types, a function from an object to plain values, which may contain
            objects of other storable types.
        unpack: its inverse; required with `pack`.

    Returns:
        The type.

    Raises:
        ValidationError: another type has the name (``type_name_taken``), or the type needs `pack`
            and `unpack` (``type_unstorable``).

    Example:
        >>> from enum import Enum
        >>> @register(name="colour")
        ... class Colour(Enum):
        ...     RED = "red"
    """
    if kind is None:
        return lambda kind: register(kind, name=name, pack=pack, unpack=unpack)
    GLOBAL.register(kind, name=name, pack=pack, unpack=unpack)
    return kind


def name_of(kind: type) -> str:
    """Return the default name of a type in the store."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_again(kind: type, known: type) -> bool:
    """Whether a class is a redefinition of the same one: a cell of a notebook ran twice."""
    return kind is known or (
        name_of(kind) == name_of(known) and "<locals>" not in kind.__qualname__
    )


def _codec(
    kind: type,
    name: str,
    pack: Callable[[Any], Any] | None,
    unpack: Callable[[Any], Any] | None,
) -> TypeCodec:
    if pack is not None and unpack is not None:
        return TypeCodec(_NAMED, pack, unpack, name=name)
    if pack is None and unpack is None and isinstance(kind, type):
        record = records.record_of(kind)
        if record is not None:
            return TypeCodec(_NAMED, record.pack, record.unpack, name=name, fields=record.fields)
    raise ValidationError(
        f"a type of this kind needs `pack` and `unpack`: {kind!r}",
        code="type_unstorable",
        details={"name": name},
        hint="pass both: functions to plain values and back",
    )


_PLAIN = range(16, 64)
"""The numbers of the standard library's data types."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored object that was read without its type.

    Attributes:
        type: the stored name of its type, or the package that defines it.
        parts: the stored plain values.
    """

    type: str
    parts: Any

    def __repr__(self) -> str:
        return f"<{self.type}: {self.parts!r}>"


class _UnreadRegistry:
    """A registry for reading: objects of types outside the standard library become `Unread`."""

    def codec_of(self, kind: type) -> NoReturn:
        """Refuse to store."""
        raise TypeError(f"this registry is for reading only, found: {kind!r}")

    def codec_named(self, name: str) -> TypeCodec:
        """Return a codec that reads an object as `Unread`."""
        return TypeCodec(_NAMED, self.codec_of, partial(Unread, name), name=name)

    def codec_numbered(self, number: int) -> TypeCodec | None:
        """Return the codec of a data type of the standard library, or one that reads `Unread`."""
        if number in _PLAIN:
            return catalog.codec_numbered(number)
        name = "pickle" if number == PICKLED.kind else catalog.package_numbered(number)
        return None if name is None else TypeCodec(number, self.codec_of, partial(Unread, name))


UNREAD = _UnreadRegistry()
