"""Standard output and error: writable for any text, and safe for a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from typing import TYPE_CHECKING

from antiphon._text import drop_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDEST = 60
_GAP = "  "


def prepare() -> None:
    """Makes both streams writable for any text.

    A closed stream is replaced by the null device; characters that the encoding of a pipe lacks
    are written as escapes.
    """
    sys.stdout = sys.stdout or _null_device()
    sys.stderr = sys.stderr or _null_device()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def tell(line: str) -> None:
    """Writes a line to standard error, and ignores a closed one."""
    with contextlib.suppress(OSError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def abandon() -> None:
    """Redirects both streams to the null device, so that Python's exit does not fail on them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def write(text: str) -> None:
    """Writes a line to standard output."""
    sys.stdout.write(text + "\n")


def line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters, safe for a terminal."""
    flat = " ".join(drop_controls(text).split())
    return flat if len(flat) <= width else f"{flat[: max(width - 1, 0)]}…"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of cells in columns, without control characters, and cut to the terminal's width."""
    shown = [heads, *(tuple(line(cell, _WIDEST) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    if sys.stdout.isatty():
        most = max(shutil.get_terminal_size().columns, 40)
        lines = [one if len(one) <= most else f"{one[: most - 1]}…" for one in lines]
    return "\n".join(lines)


def _null_device() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - lives as long as the process
