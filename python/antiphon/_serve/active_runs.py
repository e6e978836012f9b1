"""The runs that a server works on: how many at a time, how long, and how they end early."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from antiphon.errors import BudgetError, RunCancelled, RunTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from antiphon.result import RunResult

_CANCEL_TIMEOUT_S = 5
"""Seconds that a cancelled run may take to end; then its request is answered without it."""


class ActiveRuns:
    """Admits requests while there is room, and ends them when the server stops.

    Args:
        most: requests of runs at a time.
        deadline: seconds that a run may take.
    """

    def __init__(self, most: int, deadline: float) -> None:
        self.most = most
        self.deadline = deadline
        self.is_stopping = False
        self._admitted: set[asyncio.Timeout] = set()
        self._runs: set[ActiveRun] = set()

    @property
    def count(self) -> int:
        """The requests that are admitted, and the runs that have not ended."""
        return len(self._admitted) + len(self._runs)

    @property
    def accepts(self) -> bool:
        """Whether there is room for another."""
        return not self.is_stopping and self.count < self.most

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Counts a request while it is read, until its run begins, or it is refused.

        Raises:
            BudgetError: too many are under way (``server_busy``).
            RunCancelled: the server stops, maybe while the request is read (``server_stopping``).
        """
        if self.is_stopping:
            raise _stopping()
        if not self.accepts:
            raise BudgetError(
                f"the server is busy, runs under way: {self.most}",
                code="server_busy",
                hint="ask again later",
            )
        reading = asyncio.timeout(None)
        self._admitted.add(reading)
        try:
            async with reading:
                yield
        except TimeoutError:
            if reading.expired():
                raise _stopping() from None
            raise
        finally:
            self._admitted.discard(reading)

    def begin(self, work: Coroutine[Any, Any, RunResult]) -> ActiveRun:
        """Begins a run, which counts until it has really ended.

        Raises:
            RunCancelled: the server stops (``server_stopping``).
        """
        if self.is_stopping:
            work.close()
            raise _stopping()
        run = ActiveRun(work, self.deadline)
        self._runs.add(run)
        run.task.add_done_callback(lambda _: self._runs.discard(run))
        return run

    async def drain(self, grace: float) -> None:
        """Admits nothing more, waits for the runs under way, and cancels those that remain.

        Args:
            grace: seconds to wait before they are cancelled.
        """
        self.is_stopping = True
        for reading in self._admitted:
            # A request that has not arrived begins no run any more, and may never arrive.
            reading.reschedule(asyncio.get_running_loop().time())
        if self._runs:
            await asyncio.wait({run.settled for run in self._runs}, timeout=grace)
        self.cancel()
        if self._runs:
            await asyncio.wait({run.settled for run in self._runs}, timeout=_CANCEL_TIMEOUT_S)

    def cancel(self) -> None:
        """Cancels all runs, because the server stops."""
        for run in list(self._runs):
            run.end(_stopping())


class ActiveRun:
    """A run that works for a request, until it ends or something ends it.

    Args:
        work: the run.
        deadline: seconds that it may take.
    """

    def __init__(self, work: Coroutine[Any, Any, RunResult], deadline: float) -> None:
        loop = asyncio.get_running_loop()
        self.task = loop.create_task(work)
        self._ending: asyncio.Future[Exception] = loop.create_future()
        self._timer = loop.call_later(deadline, self.end, _too_late(deadline))
        self.settled = loop.create_task(self._settle())

    def end(self, reason: Exception) -> None:
        """Cancels the run; the first reason counts."""
        if not self._ending.done():
            self._ending.set_result(reason)

    @property
    def failure(self) -> BaseException | None:
        """What it raised, or why it was cancelled, once it has ended."""
        found = self.settled.result()
        return found if isinstance(found, BaseException) else None

    async def result(self) -> RunResult:
        """The result, once the run has ended.

        Raises:
            Exception: what it raised, or the reason for which it was cancelled.
        """
        found = await asyncio.shield(self.settled)
        if isinstance(found, BaseException):
            raise found
        return found

    async def _settle(self) -> RunResult | BaseException:
        waiting: set[asyncio.Future[Any]] = {self.task, self._ending}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        self._timer.cancel()
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=_CANCEL_TIMEOUT_S)
        if self._ending.done() and (not self.task.done() or self.task.cancelled()):
            return self._ending.result()
        self._ending.cancel()
        if self.task.cancelled():
            return RuntimeError("the run was cancelled by its own code")
        return self.task.exception() or self.task.result()


def _stopping() -> RunCancelled:
    return RunCancelled(
        "the server is stopping",
        code="server_stopping",
        hint="ask again later; a run that a thread keeps can be resumed",
    )


def _too_late(deadline: float) -> RunTimeout:
    return RunTimeout(
        f"the run took longer than this server allows, in seconds: {deadline:g}",
        code="run_deadline",
        hint="a run that a thread keeps can be resumed",
    )
