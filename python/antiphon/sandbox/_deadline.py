"""The last word over a worker process: at a deadline, or when the caller stops."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.sandbox._run_handle import StopSignal

__all__ = ["Deadline", "JobEnded", "process_killer"]


_EARLY = 0.05
"""Seconds by which a timer may be early."""


class JobEnded(Exception):
    """The job has ended while something was still at work for it."""


class Deadline:
    """Kills at a deadline or when the caller stops, whichever is first; use with `with`.

    Args:
        seconds: until the deadline, from entering.
        stop: by which the caller stops; ``None`` if nobody will.
        kill: ends the worker. It is called at most once, on another thread.

    Attributes:
        cut: why it was killed: ``time_limit``, ``cancelled`` or what `end` was told; ``None`` if it
            was not.
    """

    def __init__(self, seconds: float, stop: StopSignal | None, kill: Callable[[], None]) -> None:
        self.ended: str | None = None
        self._seconds, self._stop, self._kill = seconds, stop, kill
        self._lock = threading.Lock()
        self._done = False
        self._waiting: threading.Event | None = None
        self._timer = threading.Timer(seconds, self._late)
        self._timer.daemon = True
        self._ends = 0.0

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 when it is over."""
        return max(0.0, self._ends - time.monotonic())

    def begin(self, seconds: float) -> None:
        """Sets the deadline anew, from now: what came before was not the job's own."""
        with self._lock:
            if self._done or self.ended is not None:
                return
            self._timer.cancel()
            self._timer = threading.Timer(seconds, self._late)
            self._timer.daemon = True
            self._ends = time.monotonic() + seconds
            self._timer.start()

    def end(self, why: str) -> None:
        """Kills now, unless it is over."""
        with self._lock:
            if self._done or self.ended is not None:
                return
            self.ended = why
            self._kill()
            if self._waiting is not None:
                self._waiting.set()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits for an event, at most so long and not past the end of the job.

        Returns:
            Whether it happened in time.

        Raises:
            JobEnded: the job has ended.
        """
        with self._lock:
            if self.ended is None:
                self._waiting = event
        if self.ended is None:
            event.wait(min(seconds, self.left))
        with self._lock:
            self._waiting = None
        if self.ended is None and self.left <= 0:
            self.end("time_limit")
        if self.ended is not None:
            raise JobEnded(self.ended)
        return event.is_set()

    def __enter__(self) -> Self:
        self._ends = time.monotonic() + self._seconds
        self._timer.start()
        if self._stop is not None:
            self._stop.on(self._stopped)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._stop.off(self._stopped)
        self._timer.cancel()
        # Nothing may be killed any more once the worker serves somebody else.
        with self._lock:
            self._done = True

    def _late(self) -> None:
        # A timer that `begin` was too late to cancel.
        if self.left < _EARLY:
            self.end("time_limit")

    def _stopped(self, _: str) -> None:
        self.end("cancelled")


def process_killer(pid: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """What kills this process and no later one of the same number, and what forgets it.

    Args:
        pid: of a child that has not been waited for.

    Returns:
        A function that kills, and one that has to be called when that is no more needed.
    """
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)

            def kill_by_handle() -> None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)

            return kill_by_handle, lambda: os.close(handle)

    def kill_by_number() -> None:
        with contextlib.suppress(OSError):
            # Where there is no such signal the call ends the process all the same.
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    return kill_by_number, lambda: None
