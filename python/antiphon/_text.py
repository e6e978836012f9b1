"""Text: names in snake case, and text from outside made fit for a terminal or a store."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["drop_controls", "escape_controls", "snake_case", "well_formed"]


_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters, those that are not seen or turn text around, halves, ends of lines."""


class _Escapes(dict[int, str | int]):
    """What `str.translate` writes for each character; nothing is kept of it."""

    def __missing__(self, code: int) -> str | int:
        sign = chr(code)
        return sign.encode("unicode_escape").decode() if _is_obeyed(sign) else code


class _Nothing(dict[int, int | None]):
    """The same, but that what a terminal would obey is left out."""

    def __missing__(self, code: int) -> int | None:
        return None if _is_obeyed(chr(code)) else code


_ESCAPES, _NOTHING = _Escapes(), _Nothing()


def escape_controls(text: str) -> str:
    r"""The text with what a terminal would obey spelt out; ends of lines and tabs stay.

    Whatever comes from code that nobody trusts goes through this before a person sees it: escape
    sequences could hide text, and characters of direction reorder it.

    Example:
        >>> escape_controls("a\x1b[2J\u202eb")
        'a\\x1b[2J\\u202eb'
    """
    return text if text.isprintable() else text.translate(_ESCAPES)


def drop_controls(text: str) -> str:
    r"""The text without what a terminal would obey, where lines have to stay short.

    Example:
        >>> drop_controls("a\x1b[2J\u202eb")
        'a[2Jb'
    """
    return text if text.isprintable() else text.translate(_NOTHING)


def well_formed(text: str) -> str:
    r"""The text with U+FFFD for what is no character: names of files can hold such halves.

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


def snake_case(name: str) -> str:
    """A class's name in snake case.

    Example:
        >>> snake_case("SQLWriter"), snake_case("Reviewer2")
        ('sql_writer', 'reviewer2')
    """
    parts = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return parts.strip("_").lower()


def _is_obeyed(sign: str) -> bool:
    return sign not in "\n\t" and unicodedata.category(sign) in _OBEYED
