"""Type hints: evaluation of strings, removal of qualifiers, substitution of type variables."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import typing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from antiphon._schema.pydantic_shape import is_field
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUALIFIERS = frozenset({"ClassVar", "Final", "NotRequired", "ReadOnly", "Required"})


@dataclass(slots=True)
class UnwrappedHint:
    """A hint without its qualifiers.

    Attributes:
        tp: the type inside.
        notes: the metadata of ``Annotated``, outermost last.
        qualifiers: names such as ``NotRequired``.
    """

    tp: Any
    notes: list[Any]
    qualifiers: set[str]

    @property
    def description(self) -> str:
        """The description in the metadata: a string, a ``Doc``, or that of a pydantic ``Field``."""
        for note in self.notes:
            if isinstance(note, str):
                return note
            if is_field(note):
                if note.description:
                    return str(note.description)
            elif isinstance(text := getattr(note, "documentation", None), str):
                return text
        return ""


def unwrap(tp: Any) -> UnwrappedHint:
    """Remove ``Annotated``, ``Required``, ``NotRequired``, ``ReadOnly`` and ``Final``."""
    notes: list[Any] = []
    qualifiers: set[str] = set()
    while True:
        origin = typing.get_origin(tp)
        if origin is typing.Annotated:
            notes = [*tp.__metadata__, *notes]
            tp = tp.__origin__
        elif getattr(origin, "_name", None) in _QUALIFIERS:
            qualifiers.add(origin._name)  # noqa: SLF001 - special forms have no other name
            tp = typing.get_args(tp)[0]
        else:
            return UnwrappedHint(tp, notes, qualifiers)


def hints_of(
    owner: Any, label: str, local: Mapping[str, Any] | None = None, kind: str = "parameter"
) -> dict[str, Any]:
    """Return the evaluated hints of a function or class, with ``Annotated``.

    Args:
        owner: the function or class.
        label: its name, for errors.
        local: names in addition to those of its module.
        kind: ``parameter`` or ``field``, for errors.

    Raises:
        ValidationError: a hint cannot be evaluated (``unresolved_type``).
    """
    names = dict(local or {})
    try:
        try:
            return typing.get_type_hints(owner, include_extras=True)
        except NameError:
            # Not at first: `local` would hide names of the class body.
            return typing.get_type_hints(owner, localns=names, include_extras=True)
    except Exception as error:  # evaluation can raise anything
        name, hint = _culprit(owner, names)
        raise ValidationError(
            f"the type of {kind} `{name}` of `{label}` cannot be resolved: {hint}",
            code="unresolved_type",
            details={"owner": label, kind: name, "type": hint, "reason": str(error)},
            hint="define or import the type at module level, outside `if TYPE_CHECKING`, "
            "or drop `from __future__ import annotations`",
        ) from error


def resolve(value: Any, module: str, local: Mapping[str, Any]) -> Any:
    """Evaluate one hint in a module."""
    scope = vars(sys.modules[module]) if module in sys.modules else {}
    holder = SimpleNamespace(__annotations__={"value": value})
    found = typing.get_type_hints(holder, scope, dict(local), include_extras=True)
    return found["value"]


def _culprit(owner: Any, names: dict[str, Any]) -> tuple[str, str]:
    """Return the first hint that cannot be evaluated, and its text."""
    hints: dict[str, Any] = {}
    for holder in reversed(getattr(owner, "__mro__", (owner,))):
        hints |= _own_hints(holder)
    for name, hint in hints.items():
        try:
            resolve(hint, owner.__module__, names)
        except Exception:  # noqa: BLE001 - as above
            return name, hint if isinstance(hint, str) else repr(hint)
    return next(iter(hints.items()), ("?", "?"))


def _own_hints(holder: Any) -> dict[str, Any]:
    if isinstance(holder, type):
        return inspect.get_annotations(holder)
    found: dict[str, Any] = getattr(holder, "__annotations__", {})
    return found


def is_variable(tp: Any) -> bool:
    """Whether a hint is a type variable."""
    return isinstance(tp, typing.TypeVar)


def bound_of(variable: Any) -> Any:
    """Return the default, bound or constraints of a type variable, else ``Any``."""
    if getattr(variable, "has_default", bool)():
        return variable.__default__
    if variable.__bound__ is not None:
        return variable.__bound__
    if variable.__constraints__:
        return functools.reduce(operator.or_, variable.__constraints__)
    return Any


def substitute(tp: Any, filled: Mapping[Any, Any]) -> Any:
    """Substitute the type variables of a hint."""
    if is_variable(tp):
        return filled.get(tp, tp)
    open_ones = () if isinstance(tp, type) else getattr(tp, "__parameters__", ())
    if not filled or not any(one in filled for one in open_ones):
        return tp
    return tp[tuple(filled.get(one, one) for one in open_ones)]


def is_alias(tp: Any) -> bool:
    """Whether a hint is an alias of a ``type`` statement, with or without arguments."""
    # `typing_extensions` has a class of its own, whose instances are such aliases too.
    return type(typing.get_origin(tp) or tp).__name__ == "TypeAliasType"


def type_behind(tp: Any) -> Any:
    """Return what a `NewType` or an alias stands for; any other hint as it is.

    Raises:
        NameError: the alias names a type that is not defined.
    """
    if isinstance(tp, typing.NewType):
        return tp.__supertype__
    if not is_alias(tp):
        return tp
    alias = typing.get_origin(tp) or tp
    value = resolve(alias.__value__, alias.__module__, {alias.__name__: alias})
    return substitute(value, dict(zip(alias.__type_params__, typing.get_args(tp), strict=False)))


def fillings(cls: Any, args: tuple[Any, ...]) -> dict[Any, dict[Any, Any]]:
    """Return the values of the type variables, for a generic class and each of its bases."""
    own = dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))
    found = {cls: own}
    for base in getattr(cls, "__orig_bases__", ()):
        origin = typing.get_origin(base)
        if origin is not None and hasattr(origin, "__mro__"):
            inner = tuple(substitute(arg, own) for arg in typing.get_args(base))
            found |= fillings(origin, inner)
    return found


def owner_of(cls: Any, name: str) -> Any:
    """Return the class that declares a field."""
    for holder in cls.__mro__:
        if name in inspect.get_annotations(holder):
            return holder
    return cls
