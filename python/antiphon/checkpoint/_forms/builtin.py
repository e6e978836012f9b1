"""Python's own types beyond the plain ones, and its collections."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly, items

_FACTORIES: tuple[type, ...] = (list, dict, set, int, float, str, tuple, bool, deque, Counter)
"""What a `defaultdict` may make; each is known by its place."""


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    return {
        bytearray: Form(16, bytes, lambda value: bytearray(exactly(bytes, value))),
        complex: Form(17, lambda value: [value.real, value.imag], _complex),
        range: Form(18, lambda value: [value.start, value.stop, value.step], _range),
        deque: Form(19, lambda value: [value.maxlen, list(value)], _deque),
        OrderedDict: Form(20, dict, lambda value: OrderedDict(exactly(dict, value))),
        Counter: Form(21, dict, lambda value: Counter(exactly(dict, value))),
        defaultdict: Form(22, _pack_defaultdict, _defaultdict),
        re.Pattern: Form(23, lambda value: [value.pattern, value.flags], _pattern),
        type(...): Form(24, lambda _: None, lambda _: ...),
        Plain: Form(25, _plain, lambda value: value),
    }


class Plain:
    """Stands for all subclasses of Python's plain types where they are stored as these."""

    TYPES = (str, dict, list, int, float)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case dict():
            return dict(value)
    return list(value)


def _complex(value: Any) -> complex:
    real, imaginary = items(2, value)
    return complex(exactly(float, real), exactly(float, imaginary))


def _range(value: Any) -> range:
    return range(*(exactly(int, part) for part in items(3, value)))


def _deque(value: Any) -> deque[Any]:
    limit, held = items(2, value)
    return deque(exactly(list, held), limit)


def _pack_defaultdict(value: defaultdict[Any, Any]) -> list[Any]:
    factory: Any = value.default_factory
    if factory is not None and factory not in _FACTORIES:
        raise TypeError(f"its factory is not one of Python's own types: {factory!r}")
    return [None if factory is None else _FACTORIES.index(factory), dict(value)]


def _defaultdict(value: Any) -> defaultdict[Any, Any]:
    place, held = items(2, value)
    factory = None if place is None else _FACTORIES[exactly(int, place)]
    return defaultdict(factory, exactly(dict, held))


def _pattern(value: Any) -> re.Pattern[Any]:
    pattern, flags = items(2, value)
    return re.compile(pattern, exactly(int, flags))
