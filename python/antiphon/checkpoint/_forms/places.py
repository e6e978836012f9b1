"""Paths and addresses: where things are."""

from __future__ import annotations

import ipaddress
import pathlib
from functools import cache, partial
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly

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
def forms() -> dict[type, Form]:
    """The forms by type; each is written as its text."""
    return {kind: Form(number, str, partial(_read, kind)) for number, kind in _KINDS.items()}


def _read(kind: type, value: Any) -> Any:
    return kind(exactly(str, value))
