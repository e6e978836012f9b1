"""The control of runs from outside: cancel one, await one, end all when the sandbox closes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon._antiphon import CancellationToken
    from antiphon.sandbox._engine import Engine

__all__ = ["OpenRuns", "await_run"]

_T = TypeVar("_T")
_CANCEL_SECONDS = 1.0
"""How long a cancelled run is awaited; its worker is killed at once."""
_CLOSE_SECONDS = 5.0
"""How long `close` waits for runs that it has stopped; their workers are killed at once."""


async def await_run(work: Callable[[], _T], token: CancellationToken) -> _T:
    """Do blocking work on a thread; cancelling the awaiting task stops it by `token`."""
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
        token.cancel("the caller cancelled")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({future}, timeout=_CANCEL_SECONDS)
        if future.done() and not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not report it
        raise


class _Session(Protocol):
    def close_soon(self) -> None: ...


class OpenRuns:
    """The runs of an engine in Python, and the sessions of any; these are referenced weakly."""

    def __init__(self) -> None:
        self._ended = threading.Condition()
        self._runs: list[tuple[CancellationToken, int]] = []
        self._sessions: weakref.WeakSet[_Session] = weakref.WeakSet()
        self._closed = False

    @contextlib.contextmanager
    def running(self, token: CancellationToken) -> Iterator[None]:
        """Stop the run on this thread when the sandbox is closed."""
        run = (token, threading.get_ident())
        with self._ended:
            self._runs.append(run)
            closed = self._closed
        if closed:
            token.cancel("the sandbox was closed")
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
        for token, _ in runs:
            token.cancel("the sandbox was closed")
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
