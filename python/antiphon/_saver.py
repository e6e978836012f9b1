"""What callers give as a checkpointer: a saver, or the URL of one."""

from __future__ import annotations

import re
from typing import Any

from antiphon._antiphon import MemorySaver, PostgresSaver, Saver, SqliteSaver

__all__ = ["saver_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def saver_of(given: Any) -> Saver | None:
    """The saver that a caller means.

    Args:
        given: a saver, ``memory:``, ``sqlite:`` and a path, ``postgres://`` and where a database
            is, or nothing.

    Raises:
        ValueError: the URL is of no store. It is not quoted: it may hold a password.
        TypeError: it is neither a saver nor a text.

    Opening raises what `SqliteSaver.open` and `PostgresSaver.open` do.
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
    if scheme in {"postgres", "postgresql"} and path:
        return PostgresSaver.open(given)
    named = _SCHEME.match(given)
    raise ValueError(
        "a checkpointer's URL is `memory:`, `sqlite:` and a file, or `postgres://` and a database,"
        f" found: {named[0] if named else 'no scheme'}"
    )
