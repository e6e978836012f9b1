"""What callers give as a checkpointer: a saver, or the URL of one."""

from __future__ import annotations

from typing import Any

from antiphon._antiphon import MemorySaver, Saver, SqliteSaver

__all__ = ["saver_of"]


def saver_of(given: Any) -> Saver | None:
    """The saver that a caller means.

    Args:
        given: a saver, ``memory:``, ``sqlite:`` and a path, or nothing.

    Raises:
        ValueError: the URL is of no store.
        TypeError: it is neither a saver nor a text.

    Opening raises what `SqliteSaver.open` does.
    """
    if given is None or isinstance(given, Saver):
        return given
    if not isinstance(given, str):
        kind = type(given).__name__
        raise TypeError(f"`checkpointer` takes a saver of antiphon.checkpoint or a URL: {kind}")
    scheme, colon, path = given.partition(":")
    if scheme == "memory" and colon and not path:
        return MemorySaver()
    if scheme == "sqlite" and path:
        return SqliteSaver.open(path)
    raise ValueError(f"a checkpointer's URL is `memory:` or `sqlite:` and a file, found: {given}")
