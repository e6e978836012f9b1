"""Strict decoding of tagged JSON to Python objects.

Used by the host for untrusted values of a worker, and by the worker for values of the host.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import fractions
import math
import re
import struct
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from .budget import DIGITS, ShapeAllowance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Reader = Callable[["Decoder", dict[str, Any], int], Any]

_EXACT = 2**53
_TWINS = 64
"""Most keys of a container with the same hash; more would be a denial of service."""
_NAME = 1_000
_REPR = 4_000
_SIDES = 32
_INTEGER = re.compile(rf"-?[0-9]{{1,{DIGITS}}}")
_DECIMAL = re.compile(
    rf"-?(?:[0-9]{{1,{DIGITS}}}(?:\.[0-9]{{0,{DIGITS}}})?(?:E[+-][0-9]{{1,20}})?"
    rf"|\.[0-9]{{1,{DIGITS}}}|Infinity|s?NaN[0-9]{{0,{DIGITS}}})"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ISO = re.compile(r"[0-9:.T+-]{5,50}")
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SIZES = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "uint8": ("B", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "uint64": ("Q", 8),
    "float16": ("e", 2),
    "float32": ("f", 4),
    "float64": ("d", 8),
    "complex64": ("f", 8),
    "complex128": ("d", 16),
}
"""Element types of arrays: format character of `struct`, and bytes of an element."""


class MalformedValue(Exception):
    """The input is not valid tagged JSON, or exceeds its budget."""


class Opaque(NamedTuple):
    """A value of a type that is not supported outside the sandbox: its class and representation.

    It is inert; untrusted code determines both texts.

    Attributes:
        type: the name of its class.
        repr: its representation, at most 4,000 characters.

    Example:
        >>> print(Opaque("shapely.Point", "<POINT (1 2)>"))
        <POINT (1 2)>
    """

    type: str
    repr: str

    def __str__(self) -> str:
        # Safe for a terminal: control characters are escaped.
        return self.repr if self.repr.isprintable() else _escape(self.repr)

    def __repr__(self) -> str:
        return f"Opaque({self.type!r}, {self.repr!r})"


def _escape(text: str) -> str:
    """Escape all but printable characters, line ends and tabs."""
    return "".join(
        sign if sign in "\n\t" or sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text
    )


class Decoder:
    """Decodes tagged JSON within a budget.

    Args:
        tables: the tables by name.
        nodes: most nested values.
        depth: most nested containers.
        opaque: decode unsupported types to `Opaque`, instead of refusing them.
        shapes: the parts that arrays may have. Default: `nodes`.
    """

    def __init__(
        self,
        tables: Mapping[str, Any] | None = None,
        *,
        nodes: int = 100_000,
        depth: int = 64,
        opaque: bool = True,
        shapes: ShapeAllowance | None = None,
    ) -> None:
        self.tables = tables or {}
        self._left = nodes
        self._depth = depth
        self.opaque = opaque
        self.shapes = shapes or ShapeAllowance(nodes)

    def decode(self, tagged: Any, depth: int = 0) -> Any:
        """Decode tagged JSON inside `depth` containers.

        Raises:
            MalformedValue: no encoder writes it.
        """
        self._left -= 1
        if self._left < 0:
            raise MalformedValue("a value has too many parts")
        kind = type(tagged)
        if kind is str or kind is bool or tagged is None:
            return tagged
        if kind is int:
            return _check(tagged, -_EXACT <= tagged <= _EXACT, "an integer")
        if kind is float:
            return _check(tagged, math.isfinite(tagged), "a number")
        if kind is list:
            return self.items(tagged, depth)
        if kind is not dict:
            raise MalformedValue("no JSON value")
        if "$" in tagged:
            return self._decode_tagged(tagged, depth)
        inner = self.enter(depth)
        return {_text(key): self.decode(item, inner) for key, item in tagged.items()}

    def items(self, tagged: Any, depth: int) -> list[Any]:
        """Decode the items of a list."""
        inner = self.enter(depth)
        return [self.decode(item, inner) for item in _list(tagged)]

    def enter(self, depth: int) -> int:
        """Return the depth of the items of a container at `depth`, or raise `MalformedValue`."""
        if depth >= self._depth:
            raise MalformedValue("a value is nested too deeply")
        return depth + 1

    def _decode_tagged(self, tagged: dict[str, Any], depth: int) -> Any:
        tag = tagged["$"]
        fields, read = _READERS.get(tag if type(tag) is str else "", (None, None))
        if fields is None or read is None:
            raise MalformedValue("a tag is not known")
        if tagged.keys() != fields:
            raise MalformedValue(f"a value of this tag has other fields: {tag}")
        try:
            return read(self, tagged, depth)
        except (ValueError, ArithmeticError, TypeError) as problem:
            raise MalformedValue(f"a value does not fit its tag: {tag}") from problem


def _container(make: Callable[[list[Any]], Any]) -> _Reader:
    def read(decoder: Decoder, tagged: dict[str, Any], depth: int) -> Any:
        items = decoder.items(tagged["v"], depth)
        return make(items if make is tuple else _check_collisions(items))

    return read


def _dict(decoder: Decoder, tagged: dict[str, Any], depth: int) -> dict[Any, Any]:
    inner = decoder.enter(depth)
    pairs = []
    for pair in _list(tagged["v"]):
        key, item = _list(pair, 2)
        pairs.append((decoder.decode(key, inner), decoder.decode(item, inner)))
    _check_collisions([key for key, _ in pairs])
    return dict(pairs)


def _complex(decoder: Decoder, tagged: dict[str, Any], depth: int) -> complex:
    real, imaginary = (decoder.decode(part, depth) for part in _list(tagged["v"], 2))
    if type(real) is not float or type(imaginary) is not float:
        raise MalformedValue("a complex number has other parts")
    return complex(real, imaginary)


def _timedelta(decoder: Decoder, tagged: dict[str, Any], depth: int) -> dt.timedelta:
    days, seconds, micros = (decoder.decode(part, depth) for part in _list(tagged["v"], 3))
    if not type(days) is type(seconds) is type(micros) is int:
        raise MalformedValue("a duration has other parts")
    return dt.timedelta(days, seconds, micros)


def _fraction(_: Decoder, tagged: dict[str, Any], _depth: int) -> fractions.Fraction:
    top, bottom = (int(_match(_INTEGER, part)) for part in _list(tagged["v"], 2))
    return fractions.Fraction(top, bottom)


def _table(decoder: Decoder, tagged: dict[str, Any], _: int) -> Any:
    name = _text(tagged["name"])
    if name not in decoder.tables:
        raise MalformedValue("a table was not sent")
    return decoder.tables[name]


def _object(decoder: Decoder, tagged: dict[str, Any], _: int) -> Opaque:
    name, picture = _text(tagged["type"]), _text(tagged["repr"])
    if not decoder.opaque or len(name) > _NAME or len(picture) > _REPR:
        raise MalformedValue("an object is not expected")
    return Opaque(name, picture)


def _array(decoder: Decoder, tagged: dict[str, Any], _depth: int) -> Any:
    shape = _list(tagged["shape"])
    if any(type(side) is not int or side < 0 for side in shape) or len(shape) > _SIDES:
        raise MalformedValue("an array has no such shape")
    name, content = _text(tagged["dtype"]), _base64(tagged["v"])
    letter, size = _SIZES.get(name, ("", 0))
    # An array without items may have sides that no library supports.
    if not size or math.prod(shape) * size != len(content) or max(shape, default=0) > _EXACT:
        raise MalformedValue("an array's size is another")
    if not decoder.shapes.take(shape):
        raise MalformedValue("an array has more parts than its bytes pay for")
    if name == "bool" and content.translate(None, b"\x00\x01"):
        raise MalformedValue("an array of truth values holds others")
    return array_of(name, letter, shape, content)


def array_of(name: str, letter: str, shape: list[int], content: bytes) -> Any:
    """Build a numpy array if numpy is installed, else nested lists.

    `content` holds little-endian elements in C order, each of the format `letter` of `struct`; a
    complex number has two.
    """
    try:
        import numpy as np
    except ImportError:
        return _nested(name, letter, shape, content)
    order = np.dtype(name).newbyteorder("<")
    return np.frombuffer(content, dtype=order).astype(np.dtype(name)).reshape(shape)


def _nested(name: str, letter: str, shape: list[int], content: bytes) -> Any:
    count = len(content) // struct.calcsize(f"<{letter}")
    flat: list[Any] = list(struct.unpack(f"<{count}{letter}", content))
    if name.startswith("complex"):
        flat = [complex(*pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
    return _slice(flat, shape)


def _slice(flat: list[Any], shape: list[int]) -> Any:
    if not shape:
        return flat[0]
    size = math.prod(shape[1:])
    rows = range(shape[0])
    return [_slice(flat[row * size : (row + 1) * size], shape[1:]) for row in rows]


def _check_collisions(keys: list[Any]) -> list[Any]:
    """Refuse keys with many hash collisions: a dict of them takes quadratic time."""
    seen: dict[int, int] = {}
    for key in keys:
        code = hash(key)
        seen[code] = count = seen.get(code, 0) + 1
        if count > _TWINS:
            raise MalformedValue("too many keys share a hash")
    return keys


def _check(value: Any, fits: bool, what: str) -> Any:  # noqa: FBT001 - a condition
    if not fits:
        raise MalformedValue(f"{what} needs a tag")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise MalformedValue("a text is expected")
    return value


def _list(value: Any, length: int | None = None) -> list[Any]:
    if type(value) is not list or (length is not None and len(value) != length):
        raise MalformedValue("a list is expected")
    return value


def _match(pattern: re.Pattern[str], value: Any) -> str:
    if not pattern.fullmatch(_text(value)):
        raise MalformedValue("a text has another form")
    return str(value)


def _base64(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _scalar(read: Callable[[Any], Any]) -> _Reader:
    return lambda _decoder, tagged, _depth: read(tagged["v"])


def _float(value: Any) -> float:
    if _text(value) not in _FLOATS:
        raise MalformedValue("a number has another form")
    return _FLOATS[value]


_V = frozenset({"$", "v"})
_READERS: dict[str, tuple[frozenset[str], _Reader]] = {
    "int": (_V, _scalar(lambda v: int(_match(_INTEGER, v)))),
    "float": (_V, _scalar(_float)),
    "bytes": (_V, _scalar(_base64)),
    "tuple": (_V, _container(tuple)),
    "set": (_V, _container(set)),
    "frozenset": (_V, _container(frozenset)),
    "dict": (_V, _dict),
    "complex": (_V, _complex),
    "datetime": (_V, _scalar(lambda v: dt.datetime.fromisoformat(_match(_ISO, v)))),
    "date": (_V, _scalar(lambda v: dt.date.fromisoformat(_match(_ISO, v)))),
    "time": (_V, _scalar(lambda v: dt.time.fromisoformat(_match(_ISO, v)))),
    "timedelta": (_V, _timedelta),
    "decimal": (_V, _scalar(lambda v: decimal.Decimal(_match(_DECIMAL, v)))),
    "fraction": (_V, _fraction),
    "uuid": (_V, _scalar(lambda v: uuid.UUID(_match(_UUID, v)))),
    "array": (frozenset({"$", "dtype", "shape", "v"}), _array),
    "table": (frozenset({"$", "name"}), _table),
    "object": (frozenset({"$", "type", "repr"}), _object),
}
"""The fields and the reader of each tag."""
