"""Checks of values against type hints, elements of containers included."""

from __future__ import annotations

import collections
import collections.abc
import sys
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from antiphon._antiphon import PieceRedactor
from antiphon._schema.hints import is_alias, type_behind
from antiphon._state_schema import is_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_READABLE = (list, tuple, set, frozenset, collections.deque)
"""Containers whose elements can be read more than once; iterators are left alone."""
_CONTAINERS = (*_READABLE, dict, collections.defaultdict, collections.OrderedDict)
"""Classes whose arguments are the types of their parts; those of other classes may be anything."""
_DEEPEST = 64
"""Nesting to which values are read, so that one that contains itself ends."""
_LONGEST = 80
"""Characters of a value, or of a hint, that an error shows."""


class Mismatch(NamedTuple):
    """A value that does not fit its hint.

    Attributes:
        path: where it stands within the value of the key, outermost first.
        expected: what it must be.
        found: the value as `described` shows it, or what is missing from it.
        hint: how to correct it, where `expected` does not say that.
    """

    path: tuple[str, ...]
    expected: str
    found: str
    hint: str | None = None

    def below(self, step: str) -> Mismatch:
        """The same, seen from the container."""
        return self._replace(path=(step, *self.path))


class Matcher(Protocol):
    """What a type hint says of values."""

    exact: frozenset[type]
    """Classes whose own instances always fit: long lists are checked by these."""

    def mismatch(self, value: Any, depth: int = 0) -> Mismatch | None:
        """The first part of a value that does not fit; ``None`` if all of it fits."""


_PartCheck = Callable[[Any, int], Mismatch | None]
"""Checks the parts of a container of the right class, at a depth of nesting."""


def matcher_of(hint: Any, *, is_partial: bool = False) -> Matcher | None:
    """The check of a type hint; ``None`` if any value fits, or classes cannot tell.

    Args:
        hint: the type hint.
        is_partial: whether the value itself may lack fields: others are merged with it.
    """
    hint = _plain(hint)
    if is_alias(hint):
        return _Alias(hint, is_partial=is_partial)
    if is_union(hint):
        options = [matcher_of(part, is_partial=is_partial) for part in typing.get_args(hint)]
        known = [option for option in options if option is not None]
        return _Union(known) if len(known) == len(options) else None
    if typing.get_origin(hint) is typing.Literal:
        return _Literal(typing.get_args(hint))
    kinds = _kinds(hint)
    if kinds is None:
        return None
    return _Instance(kinds, _part_check(hint, is_partial=is_partial))


def is_union(hint: Any) -> bool:
    """Whether a type hint has alternatives."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def described(value: Any) -> str:
    """A value as errors show it: plain ones bounded and without known secrets, others by class."""
    if type(value) not in (str, int, float, complex, bytes, bool, type(None)):
        return type(value).__name__
    redactor = PieceRedactor()
    shown = redactor.push(repr(value)) + redactor.finish()
    return _bounded(shown)


def hint_name(hint: Any) -> str:
    """A type hint as its author wrote it, bounded."""
    is_class = isinstance(hint, type) and not typing.get_args(hint)
    return _bounded(hint.__name__ if is_class else str(hint).replace("typing.", ""))


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plain(hint: Any) -> Any:
    """The type that a ``NewType`` stands for, without metadata and qualifiers."""
    *_, innermost = _layers(hint)
    return innermost


def _layers(hint: Any) -> Iterator[Any]:
    """A type hint, and what remains as ``NewType``, ``Annotated`` and qualifiers are taken off."""
    while True:
        yield hint
        if isinstance(hint, typing.NewType):
            hint = type_behind(hint)
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif _qualifier(hint):
            hint = typing.get_args(hint)[0]
        else:
            return


def _qualifier(hint: Any) -> str | None:
    """What a hint says of its field beside the type; of ``typing`` or of ``typing_extensions``."""
    name = getattr(typing.get_origin(hint), "_name", None)
    return name if name in ("Required", "NotRequired", "ReadOnly") else None


def _is_required(hint: Any, *, otherwise: bool) -> bool:
    """Whether a field of a `TypedDict` must be there; `otherwise` is what its class says.

    Where annotations are strings, the class does not know their qualifiers.
    """
    found = {_qualifier(layer) for layer in _layers(hint)}
    return "Required" in found or (otherwise and "NotRequired" not in found)


def _is_typed_dict(kind: Any) -> bool:
    """Whether a class is a `TypedDict`, of ``typing`` or of ``typing_extensions``."""
    return typing.is_typeddict(kind) or type(kind).__name__ == "_TypedDictMeta"


def _kinds(hint: Any) -> tuple[type, ...] | None:
    """The classes whose instances fit a hint without alternatives; none where that is unknown."""
    kind = type(None) if hint is None else typing.get_origin(hint) or hint
    if _is_typed_dict(kind):
        return (dict,)
    # Of `Any` there are no instances, and it is a class.
    if kind in (Any, object) or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return None
    if hasattr(kind, "__get_pydantic_core_schema__") and not is_model(kind):
        return None  # such as `EmailStr`, whose values are plain strings
    return {float: (float, int), complex: (complex, float, int)}.get(kind, (kind,))


class _Instance:
    """Instances of some classes, with checks of their parts."""

    def __init__(self, kinds: tuple[type, ...], part_check: _PartCheck | None) -> None:
        self._kinds = kinds
        self._part_check = part_check
        self.exact = frozenset(() if part_check else kinds)

    def mismatch(self, value: Any, depth: int = 0) -> Mismatch | None:
        if not self._fits(value):
            names = ["None" if kind is type(None) else kind.__name__ for kind in self._kinds]
            return Mismatch((), " or ".join(sorted(names)), described(value))
        if self._part_check is None or depth > _DEEPEST:
            return None
        return self._part_check(value, depth + 1)

    def _fits(self, value: Any) -> bool:
        try:
            return isinstance(value, self._kinds) or isinstance(_number(value), self._kinds)
        except TypeError:  # a class that does not tell its instances
            return True


def _number(value: Any) -> Any:
    """A number of numpy, such as the sum of a column, as the one of Python that it stands for."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.number | numpy.bool_):
        return value
    # A duration counts as an integer of numpy, and says so if its unit is the nanosecond.
    return value if isinstance(value, numpy.timedelta64) else value.item()


class _Literal:
    """One of some values."""

    exact: frozenset[type] = frozenset()

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values

    def mismatch(self, value: Any, depth: int = 0) -> Mismatch | None:
        del depth
        plain = _number(value)
        for known in self._values:
            # `True` equals 1 and is another literal.
            same_kind = isinstance(plain, bool) == isinstance(known, bool)
            if plain is known or (same_kind and isinstance(plain, type(known)) and plain == known):
                return None
        names = " or ".join(described(known) for known in self._values)
        return Mismatch((), _bounded(names), described(value))


class _Alias:
    """What an alias (``type X = …``) stands for; it is read when needed, as it may name itself."""

    exact: frozenset[type] = frozenset()

    def __init__(self, alias: Any, *, is_partial: bool) -> None:
        self._alias = alias
        self._is_partial = is_partial
        self._inner: Matcher | None = None
        self._is_read = False

    def mismatch(self, value: Any, depth: int = 0) -> Mismatch | None:
        if not self._is_read:
            self._inner = _behind(self._alias, is_partial=self._is_partial)
            self._is_read = True
        if self._inner is None or depth > _DEEPEST:
            return None
        return self._inner.mismatch(value, depth + 1)


class _Union:
    """What one of several hints says."""

    def __init__(self, options: list[Matcher]) -> None:
        self._options = options
        self.exact = frozenset(kind for option in options for kind in option.exact)

    def mismatch(self, value: Any, depth: int = 0) -> Mismatch | None:
        found = []
        for option in self._options:
            mismatch = option.mismatch(value, depth)
            if mismatch is None:
                return None
            found.append(mismatch)
        # A wrong element in a container of the right class says more than the other classes.
        inner = [mismatch for mismatch in found if mismatch.path]
        names = " or ".join(dict.fromkeys(mismatch.expected for mismatch in found))
        return inner[0] if inner else Mismatch((), _bounded(names), found[0].found)


def _part_check(hint: Any, *, is_partial: bool) -> _PartCheck | None:
    kind = typing.get_origin(hint) or hint
    args = typing.get_args(hint)
    if _is_typed_dict(kind):
        return _Fields(kind, is_partial=is_partial)
    is_container = kind in _CONTAINERS or getattr(kind, "__module__", "") == "collections.abc"
    if not args or not is_container or any(map(_is_unpacked, args)):
        return None
    if issubclass(kind, tuple) and args[-1] is not ...:
        return _Positions([matcher_of(arg) for arg in args])
    keys, *values = (matcher_of(arg) for arg in args if arg is not ...)
    if issubclass(kind, collections.abc.Mapping) and values:
        return _Entries(keys, values[0])
    if keys is None or not issubclass(kind, collections.abc.Collection):
        return None
    return _Elements(keys)


def _behind(alias: Any, *, is_partial: bool) -> Matcher | None:
    try:
        return matcher_of(type_behind(alias), is_partial=is_partial)
    except NameError:  # a name that is known only to the function that declares the alias
        return None


def _is_unpacked(argument: Any) -> bool:
    """Whether an argument stands for several: ``*tuple[int, ...]``."""
    is_starred = getattr(argument, "__unpacked__", False)
    return is_starred or typing.get_origin(argument) is typing.Unpack


class _Elements:
    """Elements that have one type."""

    def __init__(self, inner: Matcher) -> None:
        self._inner = inner

    def __call__(self, value: Any, depth: int) -> Mismatch | None:
        if not isinstance(value, _READABLE) or {type(item) for item in value} <= self._inner.exact:
            return None
        parts = ((f"item {index}", self._inner, item) for index, item in enumerate(value))
        return _first(parts, depth)


class _Positions:
    """The elements of a tuple of a fixed length."""

    def __init__(self, inner: list[Matcher | None]) -> None:
        self._inner = inner

    def __call__(self, value: Any, depth: int) -> Mismatch | None:
        if len(value) != len(self._inner):
            return Mismatch((), f"a tuple of length {len(self._inner)}", f"length {len(value)}")
        pairs = enumerate(zip(self._inner, value, strict=True))
        return _first(((f"item {index}", *pair) for index, pair in pairs), depth)


class _Entries:
    """The keys and values of a dict."""

    def __init__(self, keys: Matcher | None, values: Matcher | None) -> None:
        self._keys = keys
        self._values = values

    def __call__(self, value: Any, depth: int) -> Mismatch | None:
        if not isinstance(value, dict):
            return None
        wrong = _first((("a dict key", self._keys, key) for key in value), depth)
        entries = ((f"entry {described(key)}", self._values, item) for key, item in value.items())
        return wrong or _first(entries, depth)


class _Field(NamedTuple):
    """A field of a `TypedDict`."""

    matcher: Matcher | None
    is_required: bool


class _Fields:
    """The fields of a `TypedDict`. They are read when first needed: it may contain itself."""

    def __init__(self, kind: Any, *, is_partial: bool) -> None:
        self._kind = kind
        self._is_partial = is_partial
        self._fields: dict[str, _Field] | None = None

    def __call__(self, value: Any, depth: int) -> Mismatch | None:
        if self._fields is None:
            self._fields = _fields_of(self._kind)
        # A dict with defaults has what is not in it.
        is_partial = self._is_partial or hasattr(type(value), "__missing__")
        for name, (matcher, is_required) in self._fields.items():
            if name in value:
                wrong = None if matcher is None else matcher.mismatch(value[name], depth)
            else:
                wrong = self._missing(value) if is_required and not is_partial else None
            if wrong is not None:
                return wrong.below(f"field `{name}`")
        return None

    def _missing(self, value: Any) -> Mismatch:
        known = [f"`{name}`" for name in self._fields or () if name in value]
        found = _bounded(f"found only {', '.join(known)}") if known else "found no field"
        hint = (
            f"give it, or declare it in `{self._kind.__name__}` as `NotRequired[...]` of `typing`"
        )
        return Mismatch((), "given", found, hint)


def _first(parts: Iterable[tuple[str, Matcher | None, Any]], depth: int) -> Mismatch | None:
    for step, matcher, part in parts:
        if matcher is not None and (wrong := matcher.mismatch(part, depth)) is not None:
            return wrong.below(step)
    return None


def _fields_of(kind: Any) -> dict[str, _Field]:
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception:  # noqa: BLE001 - a hint may be any code; where it cannot be read, all fits
        return {}
    required: frozenset[str] = getattr(kind, "__required_keys__", frozenset())
    return {
        name: _Field(matcher_of(hint), _is_required(hint, otherwise=name in required))
        for name, hint in hints.items()
    }
