"""Encoding of Python values as tagged JSON, within a budget.

Only exact types are encoded: subclasses could run code when they are read.
"""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import fractions
import math
import sys
import uuid
from typing import TYPE_CHECKING, Any

from .budget import DIGITS, ShapeAllowance, TooLarge
from .safe_repr import full_name, is_a, plain, safe_repr
from .table import is_polars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .budget import Budget

_EXACT = 2**53
_LARGEST = 10**DIGITS
_NUMBERS = frozenset(
    ["bool", "float16", "float32", "float64", "complex64", "complex128"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""Element types of arrays that are sent as bytes."""

_FINER = ("[ns]", "[ps]", "[fs]", "[as]")
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class Encoder:
    """Encodes values as tagged JSON and accounts for their size.

    Args:
        budget: the budget of all calls together.
        table: attaches a data frame and returns its name; or returns its columns, which are
            encoded instead; or None, to encode it as an object. Default: encode as an object.
        strict: refuse unsupported types, instead of encoding their representation.
        shapes: the parts that arrays may have. Default: the nodes of the budget.

    Example:
        >>> from antiphon.sandbox._guest.budget import Budget
        >>> Encoder(Budget(bytes=1000, nodes=100, depth=10)).encode((1, float("inf")))
        {'$': 'tuple', 'v': [1, {'$': 'float', 'v': 'inf'}]}
    """

    def __init__(
        self,
        budget: Budget,
        table: Callable[[Any], str | dict[str, list[Any]] | None] | None = None,
        *,
        strict: bool = False,
        shapes: ShapeAllowance | None = None,
    ) -> None:
        self.budget = budget
        self._table = table
        self._strict = strict
        self.shapes = shapes or ShapeAllowance(budget.nodes)

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Encode a value inside `depth` containers for `json.dumps`.

        Raises:
            TooLarge: the budget is exhausted.
            TypeError: a type is not supported, and the encoder is strict.
        """
        write = _WRITERS.get(id(type(value)))
        if write is not None:
            return write(self, value, depth)
        foreign = _foreign(value)
        if foreign is not None:
            return foreign(self, value, depth)
        return self.shown(value, depth)

    def shown(self, value: Any, depth: int) -> Any:  # noqa: ARG002 - used by subclasses
        """Encode a value of an unsupported type as its class and representation."""
        if self._strict:
            raise TypeError(f"a value of this type has no form in a sandbox: {full_name(value)}")
        name, picture = full_name(value), safe_repr(value)
        self.budget.take(len(name) + len(picture) + 32)
        return {"$": "object", "type": name, "repr": picture}

    def frame(self, value: Any, depth: int) -> Any:
        """Encode a data frame as its name in the outcome."""
        name = self._table(value) if self._table else None
        if name is None:
            return self.shown(value, depth)
        if type(name) is dict:
            return self.encode(name, depth)
        self.budget.take(len(name) + 24)
        return {"$": "table", "name": name}

    def tagged(self, tag: str, text: str) -> Any:
        """Encode a text with a tag."""
        self.budget.take(len(text) + len(tag) + 14)
        return {"$": tag, "v": text}


def _constant(encoder: Encoder, value: bool | None, _: int) -> bool | None:  # noqa: FBT001 - it is the value
    encoder.budget.take(4)
    return value


def _int(encoder: Encoder, value: int, _: int) -> Any:
    if -_EXACT <= value <= _EXACT:
        encoder.budget.take(1)
        return value
    if not -_LARGEST < value < _LARGEST:
        raise TooLarge(f"an integer has more than {DIGITS} digits")
    return encoder.tagged("int", str(value))


def _float(encoder: Encoder, value: float, _: int) -> Any:
    if math.isfinite(value):
        encoder.budget.take(3)
        return value
    return encoder.tagged("float", repr(value))


def _str(encoder: Encoder, value: str, _: int) -> str:
    encoder.budget.take(len(value) + 2)
    return plain(value, len(value))


def _bytes(encoder: Encoder, value: bytes | bytearray, _: int) -> Any:
    encoder.budget.take(len(value) * 4 // 3)
    return {"$": "bytes", "v": base64.b64encode(value).decode("ascii")}


def _list(encoder: Encoder, value: Iterable[Any], depth: int) -> list[Any]:
    items = list(value)
    encoder.budget.room_for(len(items))
    encoder.budget.take(len(items) + 2)
    inner = encoder.budget.enter(depth)
    return [encoder.encode(item, inner) for item in items]


def _range(encoder: Encoder, value: range, depth: int) -> list[Any]:
    # `len` of a range may overflow.
    encoder.budget.room_for((value.stop - value.start) // value.step)
    return _list(encoder, value, depth)


def _tagged_list(encoder: Encoder, value: Iterable[Any], depth: int) -> Any:
    return {"$": _TAGS[type(value)], "v": _list(encoder, value, depth)}


def _dict(encoder: Encoder, value: dict[Any, Any], depth: int) -> Any:
    # Not `value.items()`, which is Python code in some subclasses.
    entries = list(dict.items(value))
    encoder.budget.room_for(len(entries))
    inner = encoder.budget.enter(depth)
    if all(type(key) is str and key != "$" for key, _ in entries):
        encoder.budget.take(2 + sum(len(key) + 4 for key, _ in entries))
        return {plain(key, len(key)): encoder.encode(item, inner) for key, item in entries}
    encoder.budget.take(16 + 4 * len(entries))
    pairs = [[encoder.encode(part, inner) for part in entry] for entry in entries]
    return {"$": "dict", "v": pairs}


def _complex(encoder: Encoder, value: complex, depth: int) -> Any:
    encoder.budget.take(20)
    parts = [_float(encoder, part, depth) for part in (value.real, value.imag)]
    return {"$": "complex", "v": parts}


def _date(encoder: Encoder, value: dt.date | dt.time, _: int) -> Any:
    # A time zone may be a class of the user.
    return encoder.tagged(_TAGS[type(value)], plain(value.isoformat(), 64))


def _timedelta(encoder: Encoder, value: dt.timedelta, _: int) -> Any:
    encoder.budget.take(24, nodes=4)
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def _decimal(encoder: Encoder, value: decimal.Decimal, _: int) -> Any:
    if len(value.as_tuple().digits) > DIGITS:
        raise TooLarge(f"a decimal has more than {DIGITS} digits")
    return encoder.tagged("decimal", str(value))


def _fraction(encoder: Encoder, value: fractions.Fraction, _: int) -> Any:
    parts = (value.numerator, value.denominator)
    if any(not -_LARGEST < part < _LARGEST for part in parts):
        raise TooLarge(f"a fraction has more than {DIGITS} digits")
    texts = [str(part) for part in parts]
    encoder.budget.take(sum(map(len, texts)) + 20)
    return {"$": "fraction", "v": texts}


def _array(encoder: Encoder, value: Any, depth: int) -> Any:
    """Encode an array of numbers as bytes, any other as a list."""
    name = str(value.dtype.name)
    shape = [int(side) for side in value.shape]
    if not encoder.shapes.take(shape):
        raise TooLarge(f"an array of this shape has too many parts: {tuple(shape)}")
    if name not in _NUMBERS:
        encoder.budget.room_for(int(value.size))
        return encoder.encode(_in_microseconds(value).tolist(), depth)
    encoder.budget.take(int(value.nbytes) * 4 // 3 + 40, nodes=2 + len(shape))
    little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
    content = base64.b64encode(little.tobytes()).decode("ascii")
    return {"$": "array", "dtype": name, "shape": shape, "v": content}


def _foreign(value: Any) -> Callable[[Encoder, Any, int], Any] | None:
    """Return the writer for a value of numpy, pandas or polars, if it is one."""
    kind = type(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind is numpy.ndarray:
            return _array
        if is_a(kind, numpy.generic):
            return _scalar
    if is_polars(value):
        return _frame
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if kind is pandas.DataFrame or kind is pandas.Series:
        return _frame
    return _pandas_writers(pandas).get(id(kind))


def _pandas_writers(pandas: Any) -> dict[int, Callable[[Encoder, Any, int], Any]]:
    def missing(encoder: Encoder, _: Any, depth: int) -> Any:
        return encoder.encode(None, depth)

    def moment(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.to_pydatetime(warn=False), depth)

    def span(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.to_pytimedelta(), depth)

    def items(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.tolist(), depth)

    indexes = (pandas.Index, pandas.RangeIndex, pandas.DatetimeIndex, pandas.MultiIndex)
    writers = {
        type(pandas.NA): missing,
        type(pandas.NaT): missing,
        pandas.Timestamp: moment,
        pandas.Timedelta: span,
        pandas.Categorical: items,
        **dict.fromkeys(indexes, items),
    }
    return {id(kind): write for kind, write in writers.items()}


def _frame(encoder: Encoder, value: Any, depth: int) -> Any:
    return encoder.frame(value, depth)


def _in_microseconds(value: Any) -> Any:
    # Python's dates have no finer unit: numpy would return integers.
    name = str(value.dtype.name)
    fine = name.startswith(("datetime64", "timedelta64")) and name.endswith(_FINER)
    return value.astype(f"{name.partition('[')[0]}[us]") if fine else value


def _scalar(encoder: Encoder, value: Any, depth: int) -> Any:
    plain_value = _in_microseconds(value).item()
    # `item()` of a long double is a long double.
    if id(type(plain_value)) in _WRITERS:
        return encoder.encode(plain_value, depth)
    return encoder.shown(value, depth)


_TAGS: dict[type, str] = {
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
}
_BY_TYPE: dict[type, Callable[[Encoder, Any, int], Any]] = {
    **dict.fromkeys((type(None), bool), _constant),
    int: _int,
    float: _float,
    str: _str,
    **dict.fromkeys((bytes, bytearray), _bytes),
    **dict.fromkeys((list, collections.deque, *_VIEWS), _list),
    range: _range,
    **dict.fromkeys((tuple, set, frozenset), _tagged_list),
    **dict.fromkeys(_DICTS, _dict),
    complex: _complex,
    **dict.fromkeys((dt.datetime, dt.date, dt.time), _date),
    dt.timedelta: _timedelta,
    decimal.Decimal: _decimal,
    fractions.Fraction: _fraction,
    uuid.UUID: lambda encoder, value, _: encoder.tagged("uuid", str(value)),
}
"""The supported types."""
# By identity: a metaclass may redefine hash and equality.
_WRITERS = {id(kind): write for kind, write in _BY_TYPE.items()}
