"""Types that JSON encodes as one scalar: numbers, text, and text with a format."""

from __future__ import annotations

import base64
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._schema.shape import Path, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._schema.definitions import Definitions, JsonSchema


@dataclass(slots=True)
class Primitive(Shape):
    """A JSON scalar as Python has it; `make` differs for a subclass of ``str`` or a number."""

    noun: str
    type: str
    fits: Callable[[Any], bool]
    make: Callable[[Any], Any]

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002 - it has no parts
        return {"type": self.type}

    def build(self, value: Any, path: Path) -> Any:
        if not self.fits(value):
            raise self.misfit(path, value)
        if value is None:
            return None
        try:
            return self.make(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.misfit(path, value) from error

    def key_schema(self) -> JsonSchema | None:
        return {"string": {}, "integer": {"pattern": "^-?[0-9]+$"}}.get(self.type)

    def build_key(self, key: str, path: Path) -> Any:
        if self.type != "integer":
            return self.build(key, path)
        try:
            return self.make(int(key))
        except ValueError as error:
            raise self.misfit(path, key) from error


def _is_integer(value: object) -> bool:
    # JSON has one kind of number, so that 1.0 is a whole number; `bool` is none.
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PRIMITIVES: dict[type, tuple[str, str, Callable[[Any], bool]]] = {
    str: ("text", "string", lambda value: isinstance(value, str)),
    bool: ("true or false", "boolean", lambda value: isinstance(value, bool)),
    int: ("a whole number", "integer", _is_integer),
    float: ("a number", "number", _is_number),
    type(None): ("null", "null", lambda value: value is None),
}


def primitive(tp: type, make: Callable[[Any], Any] | None = None) -> Primitive:
    """Read ``str``, ``int``, ``float``, ``bool`` or ``NoneType``; `make` builds a subclass."""
    return Primitive(*_PRIMITIVES[tp], make or tp)


@dataclass(slots=True)
class FormattedText(Shape):
    """Text that stands for a value of another type: a date, an id, bytes."""

    noun: str
    keywords: JsonSchema
    parse: Callable[[str], Any]
    numeric: bool = False
    """Whether a JSON number is accepted too."""

    def schema(self, definitions: Definitions) -> JsonSchema:  # noqa: ARG002 - it has no parts
        return {"type": "string", **self.keywords}

    def build(self, value: Any, path: Path) -> Any:
        if self.numeric and _is_number(value):
            value = repr(value)
        if not isinstance(value, str):
            raise self.misfit(path, value)
        try:
            return self.parse(value)
        except (ValueError, ArithmeticError) as error:
            raise self.misfit(path, value) from error

    def key_schema(self) -> JsonSchema | None:
        return dict(self.keywords)


def scalar(tp: type) -> Shape | None:
    """Read a standard type that JSON encodes as a scalar; ``None`` for other types.

    The types are found by name, so that reading ``str`` does not import ``uuid``.
    """
    if tp in _PRIMITIVES:
        return primitive(tp)
    known = f"{tp.__module__}.{tp.__qualname__}"
    if tp is bytes:
        parse = functools.partial(base64.b64decode, validate=True)
        return FormattedText("base64 text", {"contentEncoding": "base64"}, parse)
    if known in _ISO:
        noun, name = _ISO[known]
        return FormattedText(noun, {"format": name}, getattr(tp, "fromisoformat"))  # noqa: B009
    if known == "uuid.UUID":
        return FormattedText("a UUID", {"format": "uuid"}, tp)
    if known == "decimal.Decimal":
        return FormattedText("a decimal number", {"format": "decimal"}, _finite(tp), numeric=True)
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in tp.__mro__)
    return (
        FormattedText("a path", {"format": "path"}, tp)
        if ("pathlib", "PurePath") in kinds
        else None
    )


_ISO = {
    "datetime.datetime": ("a date-time", "date-time"),
    "datetime.date": ("a date", "date"),
    "datetime.time": ("a time of day", "time"),
}


def _finite(decimal: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        number = decimal(text)
        if not number.is_finite():
            raise ValueError(text)
        return number

    return parse
