"""Counts and names in words, and untrusted text made safe for a terminal or a store."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["counted", "drop_controls", "escape_controls", "first_of", "snake_case", "well_formed"]


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of control and format characters, surrogates, and line separators."""


class _EscapeTable(dict[int, str | int]):
    """The table of `str.translate` that escapes unsafe characters; computed, never filled."""

    def __missing__(self, code: int) -> str | int:
        sign = chr(code)
        return sign.encode("unicode_escape").decode() if _is_unsafe(sign) else code


class _RemovalTable(dict[int, int | None]):
    """The table that drops them."""

    def __missing__(self, code: int) -> int | None:
        return None if _is_unsafe(chr(code)) else code


_ESCAPES, _REMOVALS = _EscapeTable(), _RemovalTable()


def escape_controls(text: str) -> str:
    r"""Escape control and format characters except line feeds and tabs.

    Untrusted text is escaped before it is displayed: escape sequences could hide text, and
    bidirectional controls reorder it.

    Example:
        >>> escape_controls("a\x1b[2J\u202eb")
        'a\\x1b[2J\\u202eb'
    """
    return text if text.isprintable() else text.translate(_ESCAPES)


def drop_controls(text: str) -> str:
    r"""Drop control and format characters, where lines have to stay short.

    Example:
        >>> drop_controls("a\x1b[2J\u202eb")
        'a[2Jb'
    """
    return text if text.isprintable() else text.translate(_REMOVALS)


def well_formed(text: str) -> str:
    r"""Replace lone surrogates, as in some file names, by U+FFFD.

    Example:
        >>> well_formed("caf\udcc3")
        'caf�'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def counted(count: int, noun: str) -> str:
    """A count with its noun: ``1 step``, ``2,000 steps``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_of(items: Sequence[str]) -> str:
    """The first one, and how many there are beside it."""
    return items[0] + (f", and {len(items) - 1} more" if len(items) > 1 else "")


def snake_case(name: str) -> str:
    """Convert a class name to snake case.

    Example:
        >>> snake_case("SQLWriter"), snake_case("Reviewer2")
        ('sql_writer', 'reviewer2')
    """
    parts = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return parts.strip("_").lower()


def _is_unsafe(sign: str) -> bool:
    return sign not in "\n\t" and unicodedata.category(sign) in _UNSAFE
