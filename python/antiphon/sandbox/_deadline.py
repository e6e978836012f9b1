"""The end of a job's worker: at a deadline, or when the caller stops the run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import CancellationToken

__all__ = ["ENDING", "Deadline", "JobEnded", "ended_fault", "process_killer"]

_MESSAGES = {
    "cancelled": "the caller cancelled",
    "host_call_limit": "it called host functions more often than it may",
    "output_limit": "it wrote far more than its limit",
    "time_limit": "it took longer than {:g} s",
}
_TICK = 0.02
"""Seconds between looks at a token or an event; the same as in the Rust engines."""
ENDING = frozenset([*_MESSAGES, "crashed", "memory_limit"])
"""Failures after which the state of a worker is not trusted any more."""


class JobEnded(Exception):
    """The job has ended while work for it was still in progress."""


class Deadline:
    """Kills a worker `seconds` after entering, or when the caller cancels the run.

    `kill` is called at most once, perhaps on another thread. `ended` is then the kind of fault.
    """

    def __init__(
        self, seconds: float, cancel: CancellationToken | None, kill: Callable[[], None]
    ) -> None:
        self.ended: str | None = None
        self._seconds, self._cancel, self._kill = seconds, cancel, kill
        self._changed = threading.Condition(threading.RLock())
        self._done = False
        self._ends = 0.0

    def restart(self, seconds: float) -> None:
        """Restart the clock: the interpreter's start does not count as the job's time."""
        with self._changed:
            self._ends = time.monotonic() + seconds
            self._changed.notify()

    def end(self, why: str) -> None:
        """Kill now, unless the job has ended."""
        with self._changed:
            if not self._done and self.ended is None:
                self.ended = why
                self._kill()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event; return whether it was set in time, or raise `JobEnded`."""
        until = time.monotonic() + seconds
        while not event.wait(_TICK) and self.ended is None and time.monotonic() < until:
            continue
        if self.ended is not None:
            raise JobEnded(self.ended)
        return event.is_set()

    def __enter__(self) -> Self:
        self.restart(self._seconds)
        threading.Thread(target=self._watch, name="antiphon-deadline", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # After this the worker may serve another job.
        with self._changed:
            self._done = True
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._done and self.ended is None:
                left = self._ends - time.monotonic()
                if self._cancel is not None and self._cancel.reason is not None:
                    self.end("cancelled")
                elif left <= 0:
                    self.end("time_limit")
                else:
                    self._changed.wait(left if self._cancel is None else min(left, _TICK))


def ended_fault(kind: str, wall: float) -> dict[str, Any]:
    """Return the fault of a job with this `Deadline.ended` and this time limit."""
    return {"kind": kind, "message": _MESSAGES[kind].format(wall)}


def process_killer(pid: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return functions that kill a child process, and release their resources.

    The child was not waited for yet. A later process with the same pid is never killed.
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
