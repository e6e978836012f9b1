"""How far a fetch has come, as a value and on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TextIO

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Progress", "ProgressBar", "Report", "Stage", "silent"]

Stage = Literal["waiting", "fetching", "verifying"]

_BAR_CELLS = 24
_BAR_EVERY = 0.1
_LINE_EVERY = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One look at a running fetch.

    Attributes:
        model: name of the model.
        stage: ``waiting`` for another process that fetches the same model,
            ``fetching``, or ``verifying`` bytes that were already on disk.
        done: bytes dealt with in this stage; never shrinks within a fetch.
        total: bytes of the whole model.
    """

    model: str
    stage: Stage
    done: int
    total: int


Report = Callable[[Progress], None]
"""What a caller passes as ``progress=``; called in the caller's own thread."""


def silent(progress: Progress) -> None:
    """The report of a caller that does not want any."""


class ProgressBar:
    """Shows progress: a bar on a terminal, else a plain line every ten seconds.

    Args:
        stream: where to write. Default: standard error.

    Example:
        >>> from antiphon import local
        >>> with local.ProgressBar() as bar:  # doctest: +SKIP
        ...     path = local.ensure("smollm2:135m", progress=bar)
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._due = 0.0
        self._shown: tuple[Stage, bool] | None = None
        self._width = 0

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves the cursor on a fresh line."""
        if self._width:
            self._stream.write("\n")
            self._stream.flush()
            self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Shows ``progress`` when enough time has passed, or when it starts or ends a stage."""
        now = time.monotonic()
        shown = (progress.stage, progress.done == progress.total)
        if shown == self._shown and now < self._due:
            return
        self._shown = shown
        self._due = now + (_BAR_EVERY if self._live else _LINE_EVERY)
        if self._live:
            text = _bar(progress)
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(_line(progress) + "\n")
        self._stream.flush()


def _bar(progress: Progress) -> str:
    filled = _BAR_CELLS * progress.done // max(progress.total, 1)
    cells = "#" * filled + "-" * (_BAR_CELLS - filled)
    return f"{progress.model} [{cells}] {_amount(progress)}"


def _line(progress: Progress) -> str:
    return f"{progress.model}: {_amount(progress)}"


def _amount(progress: Progress) -> str:
    if progress.stage == "waiting":
        return "waiting for another process that is fetching it"
    share = 100 * progress.done // max(progress.total, 1)
    return (
        f"{progress.stage} {progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB ({share} %)"
    )
