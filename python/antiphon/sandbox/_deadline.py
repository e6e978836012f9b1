"""The end of a job's worker: at a deadline, or when the caller stops the run."""

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
"""Seconds by which a timer may fire early."""


class JobEnded(Exception):
    """The job has ended while work for it was still in progress."""


class Deadline:
    """Kills a worker at a deadline, or when the caller stops the run; use it with ``with``.

    Args:
        seconds: time until the deadline, from entering.
        stop: the caller's stop signal, if any.
        kill: kills the worker. It is called at most once, on another thread.

    Attributes:
        ended: why the worker was killed: ``time_limit``, ``cancelled`` or the argument of `end`;
            ``None`` if it was not.
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
        """Seconds until the deadline; 0 after it."""
        return max(0.0, self._ends - time.monotonic())

    def restart(self, seconds: float) -> None:
        """Restart the clock: the interpreter's start does not count as the job's time."""
        with self._lock:
            if self._done or self.ended is not None:
                return
            self._timer.cancel()
            self._timer = threading.Timer(seconds, self._late)
            self._timer.daemon = True
            self._ends = time.monotonic() + seconds
            self._timer.start()

    def end(self, why: str) -> None:
        """Kill now, unless the job has ended."""
        with self._lock:
            if self._done or self.ended is not None:
                return
            self.ended = why
            self._kill()
            if self._waiting is not None:
                self._waiting.set()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event for `seconds`, but not past the end of the job.

        Returns:
            Whether the event was set in time.

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
        # After this the worker may serve another job.
        with self._lock:
            self._done = True

    def _late(self) -> None:
        # `restart` may have been too late to cancel this timer.
        if self.left < _EARLY:
            self.end("time_limit")

    def _stopped(self, _: str) -> None:
        self.end("cancelled")


def process_killer(pid: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a function that kills this process, and never a later one with the same pid.

    Args:
        pid: of a child that was not waited for yet.

    Returns:
        The function, and one that releases its resources.
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
            # On Windows any signal terminates the process.
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    return kill_by_number, lambda: None
