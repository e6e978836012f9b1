"""Text from outside, made fit for a terminal."""

from __future__ import annotations

from antiphon._text import drop_controls

__all__ = ["line", "safe"]

safe = drop_controls


def line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters, fit for a terminal."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else f"{flat[: max(width - 1, 0)]}…"
