"""Text from outside, made fit for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["escape_controls"]

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters, those that are not seen or turn text around, halves, ends of lines."""


class _Escapes(dict[int, str | int]):
    """What `str.translate` writes for each character; nothing is kept of it."""

    def __missing__(self, code: int) -> str | int:
        sign = chr(code)
        kept = sign in "\n\t" or unicodedata.category(sign) not in _OBEYED
        return code if kept else sign.encode("unicode_escape").decode()


_ESCAPES = _Escapes()


def escape_controls(text: str) -> str:
    r"""The text with what a terminal would obey spelt out; ends of lines and tabs stay.

    Whatever comes from code that nobody trusts, or from a model, goes through this before a
    person sees it: escape sequences could hide text, and characters of direction reorder it.

    Example:
        >>> escape_controls("a\x1b[2J\u202eb")
        'a\\x1b[2J\\u202eb'
    """
    if text.isprintable():
        return text
    return text.translate(_ESCAPES)
