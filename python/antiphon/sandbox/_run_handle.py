"""The control of runs from outside: stop one, await one, end all when the sandbox closes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.sandbox._engine import CancellationToken, Engine

__all__ = ["OpenRuns", "StopSignal", "await_run"]

_T = TypeVar("_T")
_CANCEL_SECONDS = 1.0
"""How long a cancelled run is awaited; its worker is killed at once."""
_CLOSE_SECONDS = 5.0
"""How long `close` waits for runs that it has stopped; their workers are killed at once."""


class StopSignal:
    """Tells a run of an engine in Python to stop; the engine registers what stops it.

    Example:
        >>> stop = StopSignal()
        >>> stop.stop("the caller has gone")
        >>> stop.on(print)
        the caller has gone
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._actions: list[Callable[[str], None]] = []

    @property
    def reason(self) -> str | None:
        """The reason to stop; ``None`` while there is none."""
        return self._reason

    def stop(self, reason: str) -> None:
        """Stop the run; the first reason counts."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            actions, self._actions = self._actions, []
        for action in actions:
            action(reason)

    def on(self, action: Callable[[str], None]) -> None:
        """Call `action` once with the reason; immediately if it is already known."""
        with self._lock:
            if self._reason is None:
                self._actions.append(action)
                return
            reason = self._reason
        action(reason)

    def off(self, action: Callable[[str], None]) -> None:
        """Remove an action that was not called yet."""
        with self._lock:
            if action in self._actions:
                self._actions.remove(action)


async def await_run(work: Callable[[], _T], stopper: CancellationToken) -> _T:
    """Do blocking work on a thread; cancelling the awaiting task stops it.

    Args:
        work: the blocking function.
        stopper: makes the work end soon.

    Returns:
        The result of the work.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(give: Callable[[Any], None], found: Any) -> None:
        if not future.done():
            give(found)

    def serve() -> None:
        try:
            found: tuple[Callable[[Any], None], Any] = (future.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised in the awaiting task
            found = (future.set_exception, error)
        # The loop is closed if nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *found)

    threading.Thread(target=serve, name="antiphon-sandbox-run", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stopper.stop("the caller cancelled")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({future}, timeout=_CANCEL_SECONDS)
        if future.done() and not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not report it
        raise


class _Session(Protocol):
    def close_soon(self) -> None: ...


class OpenRuns:
    """The runs of an engine in Python, and the sessions of any engine.

    Sessions are referenced weakly.
    """

    def __init__(self) -> None:
        self._ended = threading.Condition()
        self._runs: list[tuple[CancellationToken, int]] = []
        self._sessions: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._closed = False

    @contextlib.contextmanager
    def running(self, stopper: CancellationToken) -> Iterator[None]:
        """Stop the run on this thread when the sandbox is closed."""
        run = (stopper, threading.get_ident())
        with self._ended:
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

    def add_session(self, session: _Session) -> None:
        """Close `session` when the sandbox is closed."""
        self._sessions.add(session)

    def close(self, engine: Engine) -> None:
        """Stop all runs, wait for their end, and close the sessions and the engine."""
        with self._ended:
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
        own, until = threading.get_ident(), time.monotonic() + _CLOSE_SECONDS
        with self._ended:
            while any(thread != own for _, thread in self._runs):
                if not self._ended.wait(until - time.monotonic()):
                    return
