"""Text from outside, made fit for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["line", "safe"]

_KEPT = "\n\t"


def safe(text: str) -> str:
    """The text without what a terminal would obey: control and direction characters."""
    return "".join(sign for sign in text if sign in _KEPT or not _commands(sign))


def line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters, fit for a terminal."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else f"{flat[: max(width - 1, 0)]}…"


def _commands(sign: str) -> bool:
    # Cc are control characters; Cf holds those that turn the direction of text around.
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs"}
