"""Types that are one JSON scalar: numbers, text, and text with a format."""

from __future__ import annotations

import base64
import binascii
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

    def schema(self, definitions: Definitions) -> JsonSchema:
        """Its ``type``."""
        del definitions
        return {"type": self.type}

    def build(self, value: Any, path: Path) -> Any:
        """The value, as the exact Python type."""
        if not self.fits(value):
            raise self.misfit(path, value)
        try:
            return self.make(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.misfit(path, value) from error

    def key_schema(self) -> JsonSchema | None:
        """Any text, or the digits of a whole number."""
        return {"string": {}, "integer": {"pattern": "^-?[0-9]+$"}}.get(self.type)

    def build_key(self, key: str, path: Path) -> Any:
        """The key, read as a number if it is one."""
        if self.type != "integer":
            return self.build(key, path)
        try:
            return self.make(int(key))
        except ValueError as error:
            raise self.misfit(path, key) from error


def _is_integer(value: object) -> bool:
    # JSON knows one kind of number: 1.0 is a whole one. Python's `bool` is none.
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def primitive(tp: type, make: Callable[[Any], Any] | None = None) -> Primitive:
    """The reading of ``str``, ``int``, ``float``, ``bool`` or ``NoneType``.

    Args:
        tp: one of these types.
        make: what turns the value into the annotated type. Default: `tp`.
    """
    make = make or tp
    if tp is str:
        return Primitive("text", "string", lambda value: isinstance(value, str), make)
    if tp is bool:
        return Primitive("true or false", "boolean", lambda value: isinstance(value, bool), make)
    if tp is int:
        return Primitive("a whole number", "integer", _is_integer, make)
    if tp is float:
        return Primitive("a number", "number", _is_number, make)
    return Primitive("null", "null", lambda value: value is None, lambda value: value)


@dataclass(slots=True)
class Formatted(Shape):
    """Text that stands for a value of another type: a date, an id, bytes."""

    noun: str
    keywords: JsonSchema
    parse: Callable[[str], Any]
    numeric: bool = False
    """Whether a JSON number is understood too."""

    def schema(self, definitions: Definitions) -> JsonSchema:
        """Text with its format."""
        del definitions
        return {"type": "string", **self.keywords}

    def build(self, value: Any, path: Path) -> Any:
        """The value that the text stands for."""
        if self.numeric and _is_number(value):
            value = repr(value)
        if not isinstance(value, str):
            raise self.misfit(path, value)
        try:
            return self.parse(value)
        except (ValueError, ArithmeticError) as error:
            raise self.misfit(path, value) from error

    def key_schema(self) -> JsonSchema | None:
        """Its format."""
        return dict(self.keywords)


def formatted(tp: type) -> Formatted | None:
    """The reading of a standard type that JSON writes as text; ``None`` if it is none.

    The types are known by name, so that reading ``str`` does not import ``uuid``.
    """
    if tp is bytes:
        return Formatted("base64 text", {"contentEncoding": "base64"}, _unbase64)
    known = f"{tp.__module__}.{tp.__qualname__}"
    if known in _ISO:
        noun, name = _ISO[known]
        return Formatted(noun, {"format": name}, getattr(tp, "fromisoformat"))  # noqa: B009
    if known == "uuid.UUID":
        return Formatted("a UUID", {"format": "uuid"}, tp)
    if known == "decimal.Decimal":
        return Formatted("a decimal number", {"format": "decimal"}, _finite(tp), numeric=True)
    if any(
        kind.__module__.startswith("pathlib") and kind.__name__ == "PurePath" for kind in tp.__mro__
    ):
        return Formatted("a path", {"format": "path"}, tp)
    return None


_ISO = {
    "datetime.datetime": ("a date-time", "date-time"),
    "datetime.date": ("a date", "date"),
    "datetime.time": ("a time of day", "time"),
}


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


def _finite(decimal: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        number = decimal(text)
        if not number.is_finite():
            raise ValueError(text)
        return number

    return parse
