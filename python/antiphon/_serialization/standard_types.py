"""Stored forms of the standard library's data types: collections, dates, numbers, ids, paths."""

from __future__ import annotations

import datetime as dt
import ipaddress
import pathlib
import re
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any
from uuid import UUID

from antiphon._antiphon import TypeCodec
from antiphon._serialization.records import exactly, items

_FACTORIES: tuple[type, ...] = (list, dict, set, int, float, str, tuple, bool, deque, Counter)
"""Factories that a stored `defaultdict` may have, by position."""


@cache
def builtin_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    return {
        bytearray: TypeCodec(16, bytes, lambda value: bytearray(exactly(bytes, value))),
        complex: TypeCodec(17, lambda value: [value.real, value.imag], _complex),
        range: TypeCodec(18, lambda value: [value.start, value.stop, value.step], _range),
        deque: TypeCodec(19, lambda value: [value.maxlen, list(value)], _deque),
        OrderedDict: TypeCodec(20, dict, lambda value: OrderedDict(exactly(dict, value))),
        Counter: TypeCodec(21, dict, lambda value: Counter(exactly(dict, value))),
        defaultdict: TypeCodec(22, _pack_defaultdict, _defaultdict),
        re.Pattern: TypeCodec(23, lambda value: [value.pattern, value.flags], _pattern),
        type(...): TypeCodec(24, lambda _: None, lambda _: ...),
        PlainSubclass: TypeCodec(25, _plain, lambda value: value),
    }


class PlainSubclass:
    """Represents all subclasses of Python's plain types that are stored as these."""

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


_KEY = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


@cache
def time_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    return {
        dt.datetime: TypeCodec(32, _pack_clock, lambda value: _clock(dt.datetime, value)),
        dt.date: TypeCodec(33, dt.date.isoformat, dt.date.fromisoformat),
        dt.time: TypeCodec(34, _pack_clock, lambda value: _clock(dt.time, value)),
        dt.timedelta: TypeCodec(
            35, lambda value: [value.days, value.seconds, value.microseconds], _span
        ),
        dt.timezone: TypeCodec(36, _pack_zone, _zone),
        zoneinfo.ZoneInfo: TypeCodec(37, _pack_zone_name, _zone_of_name),
    }


def _pack_clock(value: Any) -> str | list[Any]:
    """Return the ISO text; with fold and zone if there is a fold or a zone other than UTC."""
    if not value.fold and (value.tzinfo is None or value.tzinfo is dt.UTC):
        text: str = value.isoformat()
        return text
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, value.tzinfo]


def _clock(kind: type[dt.datetime | dt.time], value: Any) -> dt.datetime | dt.time:
    if type(value) is str:
        return kind.fromisoformat(value)
    text, fold, zone = items(3, value)
    return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _span(value: Any) -> dt.timedelta:
    days, seconds, microseconds = items(3, value)
    return dt.timedelta(exactly(int, days), exactly(int, seconds), exactly(int, microseconds))


def _pack_zone(value: dt.timezone) -> list[Any] | None:
    return None if value is dt.UTC else list(value.__getinitargs__())  # type: ignore[attr-defined]


def _zone(value: Any) -> dt.timezone:
    return dt.UTC if value is None else dt.timezone(*exactly(list, value))


def _pack_zone_name(value: zoneinfo.ZoneInfo) -> str:
    if value.key is None:
        raise ValueError("a time zone that was read from a file has no name")
    return value.key


def _zone_of_name(value: Any) -> zoneinfo.ZoneInfo:
    check_zone_name(value)
    return zoneinfo.ZoneInfo(value)


def check_zone_name(value: Any) -> None:
    """Raise an error for a text that is no name of a zone of the IANA database."""
    # The name becomes a path, in folders and in a package.
    if not _KEY.fullmatch(exactly(str, value)) or value.startswith("dateutil/"):
        raise ValueError(f"no name of a time zone: {value}")


@cache
def number_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type."""
    return {
        Decimal: TypeCodec(40, str, lambda value: Decimal(exactly(str, value))),
        Fraction: TypeCodec(41, lambda value: [value.numerator, value.denominator], _fraction),
        UUID: TypeCodec(
            42, lambda value: value.bytes, lambda value: UUID(bytes=exactly(bytes, value))
        ),
    }


def _fraction(value: Any) -> Fraction:
    numerator, denominator = items(2, value)
    return Fraction(exactly(int, numerator), exactly(int, denominator))


_KINDS: dict[int, type] = {
    48: pathlib.PosixPath,
    49: pathlib.WindowsPath,
    50: pathlib.PurePosixPath,
    51: pathlib.PureWindowsPath,
    52: ipaddress.IPv4Address,
    53: ipaddress.IPv6Address,
    54: ipaddress.IPv4Network,
    55: ipaddress.IPv6Network,
    56: ipaddress.IPv4Interface,
    57: ipaddress.IPv6Interface,
}


@cache
def path_codecs() -> dict[type, TypeCodec]:
    """Return the codecs by type; each is stored as text."""
    return {kind: TypeCodec(number, str, partial(_read, kind)) for number, kind in _KINDS.items()}


def _read(kind: type, value: Any) -> Any:
    return kind(exactly(str, value))
