"""Python values as tagged JSON, within a budget.

Only exact types count: what a class says of itself is never asked.
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

from .budget import DIGITS, TooLarge
from .portrait import full_name, is_a, plain, portrait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .budget import Budget

_EXACT = 2**53
_LARGEST = 10**DIGITS
_NUMBERS = frozenset(
    ["bool", "float16", "float32", "float64", "complex64", "complex128"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
"""Element types of arrays that are sent as their bytes."""

_FINER = ("[ns]", "[ps]", "[fs]", "[as]")
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


class Encoder:
    """Writes values as tagged JSON and counts what they take.

    Args:
        budget: what it may take; used up by every call.
        table: sends a data frame along and returns its name, or None to have it shown as an
            object; without it frames are shown as objects.
        strict: refuse what has no form of its own, instead of showing it as text.

    Example:
        >>> from antiphon.sandbox._guest.budget import Budget
        >>> Encoder(Budget(bytes=1000, nodes=100, depth=10)).encode((1, float("inf")))
        {'$': 'tuple', 'v': [1, {'$': 'float', 'v': 'inf'}]}
    """

    def __init__(
        self,
        budget: Budget,
        table: Callable[[Any], str | None] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self.budget = budget
        self._table = table
        self._strict = strict

    def encode(self, value: Any, depth: int = 1) -> Any:
        """The value as what `json.dumps` takes.

        Args:
            value: anything.
            depth: the level at which it stands.

        Raises:
            TooLarge: the budget is used up.
            TypeError: a value has no form of its own, and the encoder is strict.
        """
        write = _WRITERS.get(type(value))
        if write is not None:
            return write(self, value, depth)
        foreign = _foreign(value)
        if foreign is not None:
            return foreign(self, value, depth)
        return self.shown(value, depth)

    def shown(self, value: Any, depth: int) -> Any:
        """A value as the name of its class and its representation."""
        if self._strict:
            raise TypeError(f"a value of this type cannot leave the sandbox: {full_name(value)}")
        name, picture = full_name(value), portrait(value)
        self.budget.node(depth + 1, len(name) + len(picture) + 32, 4)
        return {"$": "object", "type": name, "repr": picture}

    def frame(self, value: Any, depth: int) -> Any:
        """A data frame by its name in the outcome."""
        name = self._table(value) if self._table else None
        if name is None:
            return self.shown(value, depth)
        self.budget.node(depth + 1, len(name) + 24, 3)
        return {"$": "table", "name": name}

    def tagged(self, tag: str, value: Any, depth: int) -> Any:
        """A tag with a form that needs no further encoding."""
        size = len(value) if type(value) is str else 8
        self.budget.node(depth + 1, size + len(tag) + 14, 3)
        return {"$": tag, "v": value}


def _none(encoder: Encoder, _: None, depth: int) -> None:
    encoder.budget.node(depth, 4)


def _bool(encoder: Encoder, value: bool, depth: int) -> bool:  # noqa: FBT001 - it is the value
    encoder.budget.node(depth, 4)
    return value


def _int(encoder: Encoder, value: int, depth: int) -> Any:
    if -_EXACT <= value <= _EXACT:
        encoder.budget.node(depth)
        return value
    if not -_LARGEST < value < _LARGEST:
        raise TooLarge(f"an integer has more than {DIGITS} digits")
    return encoder.tagged("int", str(value), depth)


def _float(encoder: Encoder, value: float, depth: int) -> Any:
    if math.isfinite(value):
        encoder.budget.node(depth, 3)
        return value
    return encoder.tagged("float", repr(value), depth)


def _str(encoder: Encoder, value: str, depth: int) -> str:
    encoder.budget.node(depth, len(value) + 2)
    return plain(value, len(value))


def _bytes(encoder: Encoder, value: bytes | bytearray, depth: int) -> Any:
    encoder.budget.node(depth + 1, len(value) * 4 // 3, 3)
    return {"$": "bytes", "v": base64.b64encode(value).decode("ascii")}


def _list(encoder: Encoder, value: Iterable[Any], depth: int) -> list[Any]:
    items = list(value)
    encoder.budget.room_for(len(items))
    encoder.budget.node(depth, len(items) + 2)
    return [encoder.encode(item, depth + 1) for item in items]


def _range(encoder: Encoder, value: range, depth: int) -> list[Any]:
    # `len` of a range may overflow.
    encoder.budget.room_for((value.stop - value.start) // value.step)
    return _list(encoder, value, depth)


def _group(encoder: Encoder, tag: str, value: Iterable[Any], depth: int) -> Any:
    encoder.budget.node(depth, len(tag) + 12, 2)
    return {"$": tag, "v": _list(encoder, value, depth + 1)}


def _tuple(encoder: Encoder, value: tuple[Any, ...], depth: int) -> Any:
    return _group(encoder, "tuple", value, depth)


def _set(encoder: Encoder, value: set[Any], depth: int) -> Any:
    return _group(encoder, "set", value, depth)


def _frozenset(encoder: Encoder, value: frozenset[Any], depth: int) -> Any:
    return _group(encoder, "frozenset", value, depth)


def _dict(encoder: Encoder, value: dict[Any, Any], depth: int) -> Any:
    # Not `value.items()`: for a subclass of the standard library that is Python code.
    entries = list(dict.items(value))
    encoder.budget.room_for(2 * len(entries))
    if all(type(key) is str and key != "$" for key, _ in entries):
        encoder.budget.node(depth, 2 + sum(len(key) + 4 for key, _ in entries))
        return {plain(key, len(key)): encoder.encode(item, depth + 1) for key, item in entries}
    encoder.budget.node(depth + 1, 16 + 4 * len(entries), 3 + len(entries))
    pairs = [[encoder.encode(part, depth + 3) for part in entry] for entry in entries]
    return {"$": "dict", "v": pairs}


def _complex(encoder: Encoder, value: complex, depth: int) -> Any:
    encoder.budget.node(depth + 1, 20, 3)
    return {"$": "complex", "v": [_float(encoder, part, depth + 2) for part in _halves(value)]}


def _date(encoder: Encoder, value: dt.date | dt.time, depth: int) -> Any:
    # Their own `isoformat`: a time zone may be foreign code, a class of ours may not.
    return encoder.tagged(_TAGS[type(value)], plain(value.isoformat(), 64), depth)


def _timedelta(encoder: Encoder, value: dt.timedelta, depth: int) -> Any:
    encoder.budget.node(depth + 2, 24, 6)
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def _decimal(encoder: Encoder, value: decimal.Decimal, depth: int) -> Any:
    if len(value.as_tuple().digits) > DIGITS:
        raise TooLarge(f"a decimal has more than {DIGITS} digits")
    return encoder.tagged("decimal", str(value), depth)


def _fraction(encoder: Encoder, value: fractions.Fraction, depth: int) -> Any:
    parts = (value.numerator, value.denominator)
    if any(not -_LARGEST < part < _LARGEST for part in parts):
        raise TooLarge(f"a fraction has more than {DIGITS} digits")
    texts = [str(part) for part in parts]
    encoder.budget.node(depth + 2, sum(map(len, texts)) + 20, 5)
    return {"$": "fraction", "v": texts}


def _uuid(encoder: Encoder, value: uuid.UUID, depth: int) -> Any:
    return encoder.tagged("uuid", str(value), depth)


def _array(encoder: Encoder, value: Any, depth: int) -> Any:
    """An array of numbers as its bytes; any other as the list of its items."""
    name = str(value.dtype.name)
    if name not in _NUMBERS:
        encoder.budget.room_for(int(value.size))
        return encoder.encode(_in_microseconds(value).tolist(), depth)
    shape = [int(side) for side in value.shape]
    encoder.budget.node(depth + 2, int(value.nbytes) * 4 // 3 + 40, 5 + len(shape))
    little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
    content = base64.b64encode(little.tobytes()).decode("ascii")
    return {"$": "array", "dtype": name, "shape": shape, "v": content}


def _halves(value: complex) -> tuple[float, float]:
    return value.real, value.imag


def _foreign(value: Any) -> Callable[[Encoder, Any, int], Any] | None:
    """How to write a value of numpy or pandas, if either is loaded and it is theirs."""
    kind = type(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if kind is numpy.ndarray:
            return _array
        if is_a(kind, numpy.generic):
            return _scalar
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if kind is pandas.DataFrame or kind is pandas.Series:
        return _frame
    return _pandas_writers(pandas).get(kind)


def _pandas_writers(pandas: Any) -> dict[type, Callable[[Encoder, Any, int], Any]]:
    def missing(encoder: Encoder, _: Any, depth: int) -> Any:
        return encoder.encode(None, depth)

    def moment(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.to_pydatetime(warn=False), depth)

    def span(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.to_pytimedelta(), depth)

    def items(encoder: Encoder, value: Any, depth: int) -> Any:
        return encoder.encode(value.tolist(), depth)

    indexes = (pandas.Index, pandas.RangeIndex, pandas.DatetimeIndex, pandas.MultiIndex)
    return {
        type(pandas.NA): missing,
        type(pandas.NaT): missing,
        pandas.Timestamp: moment,
        pandas.Timedelta: span,
        pandas.Categorical: items,
        **dict.fromkeys(indexes, items),
    }


def _frame(encoder: Encoder, value: Any, depth: int) -> Any:
    return encoder.frame(value, depth)


def _in_microseconds(value: Any) -> Any:
    # Python's own dates know no finer unit: numpy would hand out integers.
    name = str(value.dtype.name)
    fine = name.startswith(("datetime64", "timedelta64")) and name.endswith(_FINER)
    return value.astype(f"{name.partition('[')[0]}[us]") if fine else value


def _scalar(encoder: Encoder, value: Any, depth: int) -> Any:
    plain_value = _in_microseconds(value).item()
    # A long double is its own item.
    if type(plain_value) in _WRITERS:
        return encoder.encode(plain_value, depth)
    return encoder.shown(value, depth)


_TAGS: dict[type, str] = {
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
}
_WRITERS: dict[type, Callable[[Encoder, Any, int], Any]] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    list: _list,
    collections.deque: _list,
    **dict.fromkeys(_VIEWS, _list),
    range: _range,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
    collections.OrderedDict: _dict,
    collections.defaultdict: _dict,
    collections.Counter: _dict,
    complex: _complex,
    **dict.fromkeys(_TAGS, _date),
    dt.timedelta: _timedelta,
    decimal.Decimal: _decimal,
    fractions.Fraction: _fraction,
    uuid.UUID: _uuid,
}
"""The exact types that have a form of their own."""
