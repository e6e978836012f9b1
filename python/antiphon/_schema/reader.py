"""Conversion of type hints to shapes."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any

from antiphon._json_values import codes_of, encode_or
from antiphon._schema.choice import Choice, Union, literal
from antiphon._schema.collection import ARRAYS, MAPPINGS, SETS, Array, Table, TupleShape
from antiphon._schema.definitions import Definitions
from antiphon._schema.hints import bound_of, is_alias, is_variable, type_behind, unwrap
from antiphon._schema.pydantic_shape import PydanticShape, is_pydantic
from antiphon._schema.record import MISSING, NO_DEFAULT, Declaration, Field, Record, layout_of
from antiphon._schema.scalar import Primitive, primitive, scalar
from antiphon._schema.shape import AnyShape, DescribedShape, NamedShape, Shape
from antiphon.errors import ValidationError

_DEEPEST = 50
"""Most levels of nested named types."""


class Reader:
    """Reads the hints of one schema; named types are read once and shared."""

    def __init__(self) -> None:
        self.definitions = Definitions()
        self._named: dict[Any, NamedShape] = {}
        self._depth = 0

    def read(self, tp: Any, where: str) -> Shape:
        """Read an evaluated hint.

        Args:
            tp: the hint.
            where: its owner, for errors: ``parameter `x` of `f```.

        Raises:
            ValidationError: the type has no JSON schema (``unsupported_type``).
        """
        hint = unwrap(tp)
        if any(is_pydantic(note) for note in hint.notes):
            shape = self._pydantic(typing.Annotated[(hint.tp, *hint.notes)], where)
        else:
            shape = self._plain(hint.tp, where)
        return DescribedShape(shape, hint.description) if hint.description else shape

    def field(self, declared: Declaration, where: str) -> Field:
        """Read a field or parameter; a default of ``None`` allows null."""
        shape = self.read(declared.hint, where)
        if declared.default is None:
            shape = _or_null(shape)
        default = NO_DEFAULT
        if declared.default is not MISSING:
            default = encode_or(declared.default, NO_DEFAULT)
        return Field(declared.name, shape, declared.required, default, declared.description)

    def _plain(self, tp: Any, where: str) -> Shape:
        origin, args = typing.get_origin(tp), typing.get_args(tp)
        shape: Shape | None
        if tp is Any or tp is object:
            return AnyShape()
        if isinstance(tp, type) and origin is None:
            shape = self._class(tp, where)
        elif origin is typing.Union or origin is types.UnionType:
            return Union([self.read(arg, where) for arg in args])
        elif origin is typing.Literal:
            shape = literal(args)
        elif getattr(tp, "__unpacked__", False):
            shape = None  # `*tuple[str, ...]` inside a tuple
        elif origin is not None:
            shape = self._generic(tp, origin, args, where)
        else:
            shape = self._alias(tp, where)
        if shape is None:
            raise _unsupported(tp, where)
        return shape

    def _class(self, tp: type, where: str) -> Shape | None:
        if tp in ARRAYS or tp in SETS or tp in MAPPINGS:
            return self._container(tp, (), where)
        if issubclass(tp, enum.Enum):
            return Choice(codes_of(tp)) if len(tp) else None
        if is_pydantic(tp):
            return self._pydantic(tp, where)
        return scalar(tp) or self._record(tp, (), where) or _subclass(tp)

    def _generic(self, tp: Any, origin: Any, args: tuple[Any, ...], where: str) -> Shape | None:
        if origin is tuple:
            # `Tuple` and `tuple[()]` both have no arguments.
            bare = tp is typing.Tuple  # noqa: UP006 - the alias itself
            return Array(AnyShape(), tuple) if bare else self._tuple(args, where)
        if origin in ARRAYS or origin in SETS or origin in MAPPINGS:
            return self._container(origin, args, where)
        if is_alias(tp):
            return self._alias_value(tp, where)
        if is_pydantic(origin):
            return self._pydantic(tp, where)
        return self._record(origin, args, where)

    def _tuple(self, args: tuple[Any, ...], where: str) -> Shape:
        if len(args) == 2 and args[1] is ...:  # noqa: PLR2004 - `tuple[int, ...]`
            return Array(self.read(args[0], where), tuple)
        return TupleShape([self.read(arg, where) for arg in args])

    def _container(self, kind: Any, args: tuple[Any, ...], where: str) -> Shape | None:
        """Read a list, set or mapping; without arguments its items have any type."""
        inner = [self.read(arg, where) for arg in args]
        if kind in MAPPINGS:
            key, value = inner or (AnyShape(), AnyShape())
            return Table(key, value, MAPPINGS[kind]) if key.key_schema() is not None else None
        item = inner[0] if inner else AnyShape()
        return Array(item, ARRAYS[kind]) if kind in ARRAYS else Array(item, SETS[kind], unique=True)

    def _record(self, cls: Any, args: tuple[Any, ...], where: str) -> Shape | None:
        key = _key(cls, args)
        if key in self._named:
            return self._named[key]
        layout = layout_of(cls, args)
        if layout is None:
            return None
        named = self._name("_".join([cls.__name__, *(_brief(arg) for arg in args)]), key, where)
        fields = [
            self.field(declared, f"field `{declared.name}` of `{cls.__name__}`")
            for declared in layout.declarations
        ]
        named.inner = Record(fields, layout.make, layout.description)
        self._depth -= 1
        return named

    def _name(self, name: str, key: Any, where: str) -> NamedShape:
        """Register a named type before its parts are read: it may contain itself."""
        self._depth += 1
        if self._depth > _DEEPEST:  # `class Grow[T]: next: Grow[list[T]]`
            raise _unsupported(name, where, "it contains ever larger types")
        named = self._named[key] = NamedShape(self.definitions.reserve(name))
        return named

    def _alias(self, tp: Any, where: str) -> Shape | None:
        """Read a hint that is no class and has no arguments: an alias, new type or variable."""
        if tp is None:
            return primitive(type(None))
        if is_variable(tp):
            return self.read(bound_of(tp), where)
        if tp is typing.LiteralString:
            return primitive(str)
        if is_alias(tp):
            return self._alias_value(tp, where)
        inner = type_behind(tp)
        return None if inner is tp else self.read(inner, where)

    def _alias_value(self, tp: Any, where: str) -> Shape:
        """Read the value of a ``type`` statement, which may contain itself."""
        alias = typing.get_origin(tp) or tp
        key = _key(alias, typing.get_args(tp))
        if key not in self._named:
            named = self._name(alias.__name__, key, where)
            named.inner = self.read(type_behind(tp), where)
            self._depth -= 1
        return self._named[key]

    def _pydantic(self, tp: Any, where: str) -> Shape:
        try:
            return PydanticShape(tp)
        except Exception as error:  # pydantic raises several types
            raise _unsupported(tp, where, str(error)) from error


def _key(named: Any, args: tuple[Any, ...]) -> Any:
    """Return a key of a type; metadata of `Annotated` may not be hashable."""
    try:
        hash(args)
    except TypeError:
        return named, repr(args)
    return named, args


def _brief(tp: Any) -> str:
    return str(getattr(tp, "__name__", ""))


def _subclass(tp: type) -> Shape | None:
    """Read a user's own subclass of text or a number."""
    base = next((kind for kind in (str, int, float) if issubclass(tp, kind)), None)
    return None if base is None else primitive(base, tp)


def _or_null(shape: Shape) -> Shape:
    text = shape.text if isinstance(shape, DescribedShape) else ""
    inner = shape.inner if isinstance(shape, DescribedShape) else shape
    members = inner.members if isinstance(inner, Union) else [inner]
    if not any(isinstance(member, AnyShape) or _is_null(member) for member in members):
        inner = Union([*members, primitive(type(None))])
    return DescribedShape(inner, text) if text else inner


def _is_null(shape: Shape) -> bool:
    return isinstance(shape, Primitive) and shape.type == "null"


def _unsupported(tp: Any, where: str, reason: str = "") -> ValidationError:
    name = getattr(tp, "__qualname__", None) if isinstance(tp, type) else None
    text = name or str(tp).removeprefix("typing.")
    return ValidationError(
        f"the type of {where} cannot be written as a JSON schema: {text}",
        code="unsupported_type",
        details={"where": where, "type": text} | ({"reason": reason} if reason else {}),
        hint="use standard types, a dataclass, a TypedDict or a pydantic model, "
        "or `Any` and check the value yourself",
    )
