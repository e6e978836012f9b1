"""The progress of a download, as a value and on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, TextIO

__all__ = ["Progress", "ProgressBar", "Report", "Stage", "silent"]

Stage = Literal["waiting", "fetching", "verifying"]

_LOG_SECONDS = 10.0
_GIGABYTE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a download at one moment.

    Attributes:
        model: name of the model.
        stage: ``waiting`` for another process that fetches the same model, ``fetching``, or
            ``verifying`` the hash of a complete file.
        done: bytes processed in this stage; never decreases within a stage.
        total: size of the model in bytes.
    """

    model: str
    stage: Stage
    done: int
    total: int


Report = Callable[[Progress], None]
"""The type of ``progress=``; called in the caller's own thread."""


def silent(progress: Progress) -> None:
    """Ignore ``progress``."""


class ProgressBar:
    """Show progress: a bar of tqdm on a terminal, otherwise a plain line every ten seconds.

    A download is announced with its size before it begins.

    Args:
        stream: where to write. Default: standard error.

    Example:
        >>> from antiphon import local
        >>> with local.ProgressBar() as bar:  # doctest: +SKIP
        ...     path = local.ensure("smollm2:135m", progress=bar)
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._bar: Any = None
        self._shown: tuple[Stage, bool] | None = None
        self._next_line = 0.0
        self._announced = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __call__(self, progress: Progress) -> None:
        """Show ``progress``, at most as often as it can be read."""
        before = self._shown
        if progress.stage == "fetching" and not self._announced:
            self._announced = True
            self._announce(progress)
        self._shown = progress.stage, progress.done == progress.total
        if self._stream.isatty():
            self._draw(progress, is_new=before is None or before[0] != progress.stage)
        elif before != self._shown or time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LOG_SECONDS
            self._stream.write(_line(progress) + "\n")
            self._stream.flush()

    def _announce(self, progress: Progress) -> None:
        size = _size(progress.total - progress.done)
        self._stream.write(f"{progress.model}: downloading {size}, once\n")
        self._stream.flush()

    def _draw(self, progress: Progress, *, is_new: bool) -> None:
        from tqdm import tqdm

        if is_new:
            self._close()
            self._bar = tqdm(
                desc=f"{progress.model}: {progress.stage}",
                total=progress.total,
                initial=progress.done,
                unit="B",
                unit_scale=True,
                file=self._stream,
                dynamic_ncols=True,
            )
        self._bar.update(max(0, progress.done - self._bar.n))

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= _GIGABYTE else f"{size / 1e6:.0f} MB"


def _line(progress: Progress) -> str:
    if progress.stage == "waiting":
        return f"{progress.model}: waiting for another process that downloads it"
    share = 100 * progress.done // max(progress.total, 1)
    size = f"{progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB ({share} %)"
    return f"{progress.model}: {progress.stage} {size}"
