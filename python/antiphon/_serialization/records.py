"""Stored forms of users' classes by their parts, and checks of stored parts."""

from __future__ import annotations

import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum, Flag
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from antiphon._antiphon import TypeCodec

if TYPE_CHECKING:
    from collections.abc import Callable


_T = TypeVar("_T")


def exactly(kind: type[_T], value: Any) -> _T:
    """Return `value` if its type is exactly `kind`; raise `TypeError` otherwise."""
    if type(value) is not kind:
        raise TypeError(f"expected `{kind.__name__}`, found: {type(value).__name__}")
    return value


def items(count: int, value: Any) -> list[Any]:
    """Return `value` if it is a list of `count` items; raise `TypeError` otherwise."""
    if type(value) is not list or len(value) != count:
        raise TypeError(f"expected a list of {count} items, found: {type(value).__name__}")
    return value


_HEAP = 1 << 9
"""The flag of classes that are not defined in C."""


@dataclass(frozen=True, slots=True)
class Record:
    """The codec of a class.

    Attributes:
        pack: converts an object to plain values.
        unpack: its inverse.
        fields: whether the plain values are fields by name.
    """

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]
    fields: bool = False


def is_record(kind: type) -> bool:
    """Whether a class in the annotations of a state can be stored without registration."""
    return not issubclass(kind, BaseException) and record_of(kind) is not None


def record_of(kind: type) -> Record | None:
    """Return the codec of a class; ``None`` if it is of no supported kind."""
    if issubclass(kind, Enum):
        return _enum(kind)
    if _is_model(kind):
        return Record(pack_model, partial(unpack_model, kind), fields=True)
    if issubclass(kind, BaseException):
        return Record(pack_exception, partial(unpack_exception, kind))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Record(lambda value: value._asdict(), partial(_tuple, kind), fields=True)
    if is_dataclass(kind) and _is_pure(kind):
        return Record(_pack_dataclass, partial(_dataclass, kind), fields=True)
    return None


def record_codec(number: int, kind: type) -> TypeCodec:
    """Return the numbered codec of a dataclass or named tuple."""
    record = record_of(kind)
    assert record is not None  # noqa: S101 - as above
    return TypeCodec(number, record.pack, record.unpack, fields=True)


def _enum(kind: type[Enum]) -> Record | None:
    # A class without members has no objects.
    if not kind.__members__:
        return None
    if issubclass(kind, Flag):
        return Record(lambda value: value.value, lambda value: kind(exactly(int, value)))
    return Record(lambda value: value.name, partial(_member, kind))


def _member(kind: type[Enum], name: Any) -> Enum:
    """The member with a stored name, which the enum may have lost since."""
    found = kind.__members__.get(exactly(str, name))
    if found is None:
        known = ", ".join(f"`{one}`" for one in kind.__members__)
        raise LookupError(
            f"the enum has no member `{name}` any more, only {known}; keep a member, or an alias "
            "with its name, while threads hold it"
        )
    return found


def _is_pure(kind: type) -> bool:
    """Whether objects consist only of their fields, unlike those of a subclass of `dict`."""
    own = {object, Generic}
    return all(base in own or base.__flags__ & _HEAP for base in kind.__mro__)


def _pack_dataclass(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _dataclass(kind: Any, parts: Any) -> Any:
    exactly(dict, parts)
    made = kind.__new__(kind)
    for field in fields(kind):
        if field.name in parts:
            value = parts[field.name]
        elif field.default is not MISSING:
            value = field.default
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            raise TypeError(f"a field is not stored, and has no default: {field.name}")
        # A frozen class refuses to be set.
        object.__setattr__(made, field.name, value)
    return made


def _tuple(kind: type, parts: Any) -> Any:
    known: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in exactly(dict, parts).items() if name in known})


def pack_exception(value: BaseException) -> list[Any]:
    """Return arguments and attributes of an exception."""
    return [list(value.args), vars(value)]


def unpack_exception(kind: type[BaseException], parts: Any) -> BaseException:
    """Build an exception from its arguments and attributes, without its ``__init__``."""
    arguments, attributes = items(2, parts)
    made = kind.__new__(kind, *exactly(list, arguments))
    made.args = tuple(arguments)
    vars(made).update(exactly(dict, attributes))
    return made


def _is_model(kind: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)


def pack_model(value: Any, *, leave_out: Callable[[str], bool] = lambda _: False) -> list[Any]:
    """Return fields, names of the given ones, extra and private values of a pydantic model.

    Fields for which `leave_out` is true are omitted.
    """
    known = type(value).model_fields
    held = {
        name: part for name, part in vars(value).items() if name in known and not leave_out(name)
    }
    given = value.model_fields_set
    names = None if given == held.keys() else sorted(given)
    parts = [held, names, value.__pydantic_extra__, value.__pydantic_private__]
    while parts[-1] is None:
        parts.pop()
    return parts


def unpack_model(kind: Any, parts: Any) -> Any:
    """Build a pydantic model from stored fields, without validating them."""
    held, given, extra, private = [*exactly(list, parts), None, None, None][:4]
    state: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if name in exactly(dict, held):
            state[name] = held[name]
        elif field.is_required():
            raise TypeError(f"a field is not stored, and has no default: {name}")
        else:
            state[name] = _default(field, state)
    names = held if given is None else exactly(list, given)
    extra = extra if kind.model_config.get("extra") == "allow" else None
    made = kind.__new__(kind)
    made.__setstate__(
        {
            "__dict__": state,
            "__pydantic_fields_set__": {
                name for name in names if name in state or name in (extra or ())
            },
            "__pydantic_extra__": extra,
            "__pydantic_private__": _private(kind, private or {}),
        }
    )
    return made


def _default(field: Any, state: dict[str, Any]) -> Any:
    """The default of a field, given those before it."""
    # To ask whether a factory takes those reads its signature, which takes 100 times as long.
    if field.default_factory in (dict, list, set):
        return field.default_factory()
    # Factories take them since pydantic 2.10.
    if getattr(field, "default_factory_takes_validated_data", False):
        return field.default_factory(state)
    return field.get_default(call_default_factory=True)


def _private(kind: Any, held: dict[str, Any]) -> dict[str, Any] | None:
    known = kind.__private_attributes__
    if not known:
        return None
    values = {name: held.get(name, known[name].get_default()) for name in known}
    # One without a default stays unset, as in a new model.
    return {name: value for name, value in values.items() if name in held or _is_set(value)}


def _is_set(value: Any) -> bool:
    from pydantic_core import PydanticUndefined

    return value is not PydanticUndefined
