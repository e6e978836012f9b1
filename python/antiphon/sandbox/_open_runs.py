"""What a sandbox has under way, so that closing it ends that as well."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.sandbox._engines import Engine, Stopper

__all__ = ["OpenRuns"]

_PATIENCE = 5.0
"""Seconds for which runs are waited for that have been stopped; their workers are killed."""


class _Session(Protocol):
    def close_soon(self) -> None: ...


class OpenRuns:
    """Runs of an engine in Python, and sessions of any; it keeps no session alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._runs: list[tuple[Stopper, int]] = []
        self._sessions: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._closed = False

    @contextlib.contextmanager
    def running(self, stopper: Stopper) -> Iterator[None]:
        """Has a run on this thread stopped when the sandbox is closed."""
        run = (stopper, threading.get_ident())
        with self._lock:
            self._runs.append(run)
            closed = self._closed
        if closed:
            stopper.stop("the sandbox was closed")
        try:
            yield
        finally:
            with self._ended:
                self._runs.remove(run)
                self._ended.notify_all()

    def with_session(self, session: _Session) -> None:
        """Takes a session."""
        self._sessions.add(session)

    def close(self, engine: Engine) -> None:
        """Stops all runs, waits for their end, and ends the sessions and the engine."""
        with self._lock:
            self._closed = True
            runs = list(self._runs)
        for stopper, _ in runs:
            stopper.stop("the sandbox was closed")
        self._wait()
        for session in list(self._sessions):
            session.close_soon()
        engine.close()

    def _wait(self) -> None:
        # A tool that closes the sandbox may be called by a run on this very thread.
        own, until = threading.get_ident(), time.monotonic() + _PATIENCE
        with self._ended:
            while any(thread != own for _, thread in self._runs):
                if not self._ended.wait(until - time.monotonic()):
                    return
