"""The streams a command writes to, whatever state they are in."""

from __future__ import annotations

import contextlib
import io
import os
import sys

__all__ = ["abandon", "prepare", "tell"]


def prepare() -> None:
    """Makes both streams writable for any text: an answer must not be lost on its way out.

    A closed stream is replaced by one that leads nowhere; characters that the encoding of a
    pipe lacks are written as escapes.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def tell(line: str) -> None:
    """Writes a line for a person; if nobody can read it, nothing happens."""
    with contextlib.suppress(OSError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def abandon() -> None:
    """Gives both streams up, so that Python does not complain about them at its end."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - lives as long as the process
