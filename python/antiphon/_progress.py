"""Progress bars of batches."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_WIDTH = 30
_PAUSE = 0.1
"""Seconds between two updates."""


class BatchProgressBar:
    """A progress bar on a terminal or in a notebook; elsewhere it shows nothing."""

    def __init__(self, total: int, label: str) -> None:
        self._total = total
        self._label = label
        self._done = self._failed = 0
        self._started = time.monotonic()
        self._drawn = 0.0
        self._show = _notebook() or _terminal()

    def __enter__(self) -> Self:
        self._draw(force=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._draw(force=True, last=True)

    def advance(self, *, failed: bool) -> None:
        """Counts one more."""
        self._done += 1
        self._failed += failed
        self._draw()

    def line(self) -> str:
        """The bar as text."""
        share = self._done / self._total if self._total else 1.0
        filled = round(share * _WIDTH)
        seconds = int(time.monotonic() - self._started)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        failed = f", {self._failed} failed" if self._failed else ""
        clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
        return f"{self._label} {bar} {self._done}/{self._total}{failed} {clock}"

    def _draw(self, *, force: bool = False, last: bool = False) -> None:
        now = time.monotonic()
        if self._show is None or (not force and now - self._drawn < _PAUSE):
            return
        self._drawn = now
        self._show(self.line(), last)


def _terminal() -> Callable[[str, bool], None] | None:
    stream: Any = sys.stderr
    if stream is None or not stream.isatty():
        return None

    def show(line: str, last: bool) -> None:  # noqa: FBT001 - called by position
        stream.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        stream.flush()

    return show


def notebook_output() -> Callable[[dict[str, str]], None] | None:
    """What shows a MIME bundle in the cell's output, each in place of the one before.

    ``None`` outside of a notebook.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display as output  # type: ignore[import-not-found, unused-ignore]

    display: Any = output.display

    handle: Any = None

    def show(bundle: dict[str, str]) -> None:
        nonlocal handle
        if handle is None:
            handle = display(bundle, raw=True, display_id=True)
        else:
            handle.update(bundle, raw=True)

    return show


def _notebook() -> Callable[[str, bool], None] | None:
    output = notebook_output()
    return None if output is None else lambda line, _last: output({"text/plain": line})
