"""Durations and sizes, as people type and read them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from re import fullmatch

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_STEP = 1024
_LAST_PORT = 65_535
_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def seconds(given: str) -> int:
    """The seconds of a duration: a number and ``s``, ``m``, ``h``, ``d`` or ``w``.

    Raises:
        ArgumentTypeError: it is something else.

    Example:
        >>> seconds("30d")
        2592000
    """
    found = fullmatch(r"(\d{1,9})([smhdw])", given)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"a length of time is a number and s, m, h, d or w, such as 30d: {given}"
        )
    return int(found[1]) * _SECONDS[found[2]]


def size(given: str) -> int:
    """A number of bytes, with or without the suffix ``K``, ``M``, ``G`` or ``T``.

    Raises:
        ArgumentTypeError: it is something else.

    Example:
        >>> size("64K")
        65536
    """
    found = fullmatch(r"(\d{1,9})([KMGT]?)B?", given.upper())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"a size is a number of bytes, or such as 64K or 1G: {given}"
        )
    return int(found[1]) * _BYTES[found[2]]


def count(given: str) -> int:
    """A whole number of at least 1.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not fullmatch(r"[0-9]{1,9}", given) or int(given) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1: {given}")
    return int(given)


def port(given: str) -> int:
    """The number of a port; 0 is any that is free.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not fullmatch(r"[0-9]{1,5}", given) or int(given) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_LAST_PORT}: {given}")
    return int(given)


def size_text(number: int) -> str:
    """A number of bytes in a few characters.

    Example:
        >>> size_text(1536)
        '1.5 KiB'
    """
    amount, unit = float(number), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < _STEP:
            break
        amount, unit = amount / _STEP, larger
    return f"{number} B" if unit == "B" else f"{amount:.1f} {unit}"


def age(moment: datetime) -> str:
    """The age of a moment, in a few characters."""
    passed = max(int((datetime.now(UTC) - moment).total_seconds()), 0)
    for unit in ("w", "d", "h", "m"):
        if passed >= 2 * _SECONDS[unit]:
            return f"{passed // _SECONDS[unit]} {unit} ago"
    return f"{passed} s ago"
