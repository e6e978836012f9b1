"""Dates, times and time zones."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from functools import cache
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly, items

_KEY = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    return {
        dt.datetime: Form(32, _pack_clock, lambda value: _clock(dt.datetime, value)),
        dt.date: Form(33, dt.date.isoformat, dt.date.fromisoformat),
        dt.time: Form(34, _pack_clock, lambda value: _clock(dt.time, value)),
        dt.timedelta: Form(
            35, lambda value: [value.days, value.seconds, value.microseconds], _span
        ),
        dt.timezone: Form(36, _pack_zone, _zone),
        zoneinfo.ZoneInfo: Form(37, _pack_place, _place),
    }


def _pack_clock(value: Any) -> str | list[Any]:
    """The text, which says it all if there is neither a fold nor a zone but UTC."""
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


def _pack_place(value: zoneinfo.ZoneInfo) -> str:
    if value.key is None:
        raise ValueError("a time zone that was read from a file has no name")
    return value.key


def _place(value: Any) -> zoneinfo.ZoneInfo:
    # A name is looked for in folders, and in a package.
    if not _KEY.fullmatch(exactly(str, value)):
        raise ValueError(f"no name of a time zone: {value}")
    return zoneinfo.ZoneInfo(value)
