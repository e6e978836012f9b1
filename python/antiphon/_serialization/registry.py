"""Which types a store may hold, and how they are read without the types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from antiphon._antiphon import Form
from antiphon._serialization import catalog, records
from antiphon._serialization.catalog import PICKLED
from antiphon._serialization.type_hints import types_in
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GLOBAL", "UNREAD", "Registry", "Unread", "name_of", "register", "registry_for"]


_T = TypeVar("_T", bound=type)

_NAMED = 7
"""The number of all forms that have names."""


class Registry:
    """The types whose objects can be stored, each with the form it is stored in.

    Python's own types, those of its standard library that are data, numpy's arrays, tables
    and LangChain's messages are in every registry. Types of users are stored under a name,
    and an object of one is only made if the name is registered when it is read.

    Args:
        outer: a registry whose names win over those that are adopted here. Default: none.
        pickles: whether objects of all other types are pickled. Default: they cannot be stored.

    Attributes:
        settled: whether the schemas that were adopted will always mention the same types.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     price: int
        >>> registry = Registry()
        >>> registry.register(Order, name="order")
        >>> registry.form_of(Order)
        Form(7, name="order")
    """

    def __init__(self, outer: Registry | None = None, *, pickles: bool = False) -> None:
        self._outer = outer
        self._pickles = pickles
        self.settled = True
        self._types: dict[type, Form] = {}
        self._names: dict[str, tuple[type, Form]] = {}

    def register(
        self,
        kind: type,
        *,
        name: str | None = None,
        pack: Callable[[Any], Any] | None = None,
        unpack: Callable[[Any], Any] | None = None,
    ) -> None:
        """Lets objects of a type be stored; see `antiphon.checkpoint.register`."""
        name = name or name_of(kind)
        known = self._names.get(name)
        if known is not None and not _is_again(kind, known[0]):
            raise ValidationError(
                f"two types cannot be stored under one name: {name}",
                code="type_name_taken",
                details={"name": name},
                hint="give one of them another name: register(type, name=…)",
            )
        form = _form(kind, name, pack, unpack)
        self._types[kind] = form
        self._names[name] = (kind, form)

    def adopt(self, schema: Any) -> None:
        """Registers what a schema mentions, also inside one another.

        That are enums, dataclasses, pydantic models and named tuples. A type whose name
        another one has already is left out: it has to be registered.

        Args:
            schema: a class with annotations, or a type such as ``list[Order]``.
        """
        kinds, settled = types_in(schema)
        self.settled = self.settled and settled
        for kind in kinds:
            if kind in self._types or not records.is_record(kind):
                continue
            if name_of(kind) not in self._names and catalog.form_of(kind) is None:
                self.register(kind)

    def pickling(self) -> Registry:
        """The same registry, which pickles what it does not know."""
        return Registry(self, pickles=True)

    def form_of(self, kind: type) -> Form | None:
        """How objects of a type are stored, or none if they cannot be."""
        known = self.registered(kind) or catalog.form_of(kind) or catalog.form_of_failure(kind)
        return known or (PICKLED if self._pickles else None)

    def form_named(self, name: str) -> Form | None:
        """The form of the type that is stored under a name."""
        owner = self.owner(name)
        return None if owner is None else owner[1]

    def registered(self, kind: type) -> Form | None:
        """How objects of a type are stored, if it is registered or adopted."""
        form = self._outer.registered(kind) if self._outer is not None else None
        if form is not None or (form := self._types.get(kind)) is None:
            return form
        # Another type may have been registered outside under a name that was adopted here.
        owner = self.owner(form.name or "")
        return form if owner is not None and _is_again(kind, owner[0]) else None

    def owner(self, name: str) -> tuple[type, Form] | None:
        """The type that is stored under a name, and its form."""
        owner = self._outer.owner(name) if self._outer is not None else None
        return owner or self._names.get(name)

    def form_numbered(self, number: int) -> Form | None:
        """The form that a number stands for."""
        if number == PICKLED.kind:
            return PICKLED if self._pickles else None
        return catalog.form_numbered(number)


GLOBAL = Registry()
"""What `register` fills."""


def registry_for(*schemas: Any) -> Registry:
    """The registry of a graph: everything registered, and what its schemas mention.

    Args:
        schemas: those of the state, the input, the output and so on.
    """
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
    """Registers a type, so that states with its objects can be stored.

    Types in the annotations of a state are registered automatically. An enum is stored by its
    members' names; a dataclass, a pydantic model or a named tuple by its fields, and restored
    without running its ``__init__``; an exception by its arguments and attributes. Fields that
    were added since take their default, removed ones are dropped.

    Args:
        kind: the type, unless this is used as a decorator with options.
        name: what the type is stored as; keep it when the class is renamed or moved.
            Default: the module and the qualified name.
        pack: for types of other kinds, a function from an object to plain values, which may
            hold objects of other types that can be stored. Default: the kind's own way.
        unpack: the way back; given if and only if `pack` is.

    Returns:
        The type.

    Raises:
        ValidationError: ``type_name_taken``, if another type has the name;
            ``type_unstorable``, if the type is of no known kind and `pack` is missing.

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
    """What a type is stored as, unless a name was given."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_again(kind: type, known: type) -> bool:
    """Whether a class is the same one, defined anew: a cell of a notebook ran twice."""
    return kind is known or (
        name_of(kind) == name_of(known) and "<locals>" not in kind.__qualname__
    )


def _form(
    kind: type,
    name: str,
    pack: Callable[[Any], Any] | None,
    unpack: Callable[[Any], Any] | None,
) -> Form:
    if pack is not None and unpack is not None:
        return Form(_NAMED, pack, unpack, name=name)
    if pack is None and unpack is None and isinstance(kind, type):
        record = records.record_of(kind)
        if record is not None:
            return Form(_NAMED, record.pack, record.unpack, name=name, fields=record.fields)
    raise ValidationError(
        f"a type of this kind cannot be stored by itself: {kind!r}",
        code="type_unstorable",
        details={"name": name},
        hint="give both `pack` and `unpack`: functions to plain values and back",
    )


_PLAIN = range(16, 64)
"""The numbers of the standard library's types that are data."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored object of a type that was not made.

    Attributes:
        type: the name that it is stored under, or the package of its type.
        parts: what was stored of it.
    """

    type: str
    parts: Any

    def __repr__(self) -> str:
        return f"<{self.type}: {self.parts!r}>"


class _UnreadRegistry:
    """A registry that knows Python's own types, and makes no object of any other."""

    def form_of(self, kind: type) -> NoReturn:
        """Nothing is stored through it."""
        raise TypeError(f"what is stored is only looked at, found: {kind.__name__}")

    def form_named(self, name: str) -> Form:
        """Leaves an object of a registered type unread."""
        return Form(7, _unpacked, partial(Unread, name), name=name)

    def form_numbered(self, number: int) -> Form | None:
        """Leaves an object unread whose type is not one of the standard library's."""
        if number in _PLAIN:
            return catalog.form_numbered(number)
        name = "pickle" if number == PICKLED.kind else catalog.package_numbered(number)
        return None if name is None else Form(number, _unpacked, partial(Unread, name))


def _unpacked(value: Any) -> NoReturn:
    raise TypeError(f"what is stored is only looked at, found: {value!r}")


UNREAD = _UnreadRegistry()
