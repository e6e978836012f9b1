"""Text from outside, made fit for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["drop_controls", "escape_controls"]

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


def _is_obeyed(sign: str) -> bool:
    return sign not in "\n\t" and unicodedata.category(sign) in _OBEYED
