"""A request for a run, and its reply: one result, or events as they happen."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from antiphon._serve.failure import reply_to, shown_event
from antiphon._serve.reply import (
    KEEP_ALIVE,
    begin_events,
    end_events,
    event_chunk,
    send_chunk,
    send_json,
)
from antiphon.errors import BudgetError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Send

    from antiphon._serve.active_runs import ActiveRun
    from antiphon.event import Event

    BeginRun = Callable[[Callable[[Event], object] | None], ActiveRun]

_MOST_WAITING = 16 * 2**20
"""Bytes of events that may wait for a client to read them."""
_SERVER_FAILED = 500
"""The status from which on a run may have started."""


class RunExchange:
    """Runs for one client; one that goes away cancels its run.

    Args:
        receive: tells when the client has gone.
        send: sends the reply.
        thread: what keeps the run.
        route: the route of the request, for the log.
        keep_alive: seconds of silence after which a stream gets a comment.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        thread: str | None,
        route: str,
        keep_alive: float,
    ) -> None:
        self._receive = receive
        self._send = send
        self._thread = thread
        self._route = route
        self._keep_alive = keep_alive
        self._departure = RunCancelled("the client has gone away", code="run_cancelled")
        self._waiting = 0
        self._large_waits = False

    async def reply(self, begin: BeginRun) -> None:
        """Replies with the result."""
        run = begin(None)
        async with self._watched(run):
            try:
                result = await run.result()
            except Exception as error:  # noqa: BLE001 - every failure has a reply
                await self._fail(error)
            else:
                await send_json(self._send, 200, result.to_dict())

    async def stream(self, begin: BeginRun) -> None:
        """Replies with the events, and the result at the end.

        What is refused before the first event has the status of a plain reply.
        """
        inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(event: Event | None) -> None:
            chunk = None if event is None else event_chunk("event", shown_event(event), event.seq)
            if self._has_room(len(chunk or b"")):
                inbox.put_nowait(chunk)
            else:
                run.end(_too_slow())

        run = begin(lambda event: loop.call_soon_threadsafe(put, event))
        # In line behind the events, which may come from other threads.
        run.settled.add_done_callback(lambda _: loop.call_soon(put, None))
        async with self._watched(run):
            chunk = await inbox.get()
            if chunk is None and run.failure is not None:
                await self._fail(run.failure)
                return
            await begin_events(self._send)
            await send_chunk(self._send, event_chunk("start", {"thread": self._thread}))
            while chunk is not None:
                await send_chunk(self._send, chunk)
                self._is_sent(len(chunk))
                chunk = await self._next(inbox)
            await self._conclude(run)

    def _has_room(self, size: int) -> bool:
        """Whether a further event may wait; it is counted then."""
        # An event above the limit says nothing of its client: one may wait beside the others.
        if size > _MOST_WAITING:
            had_room, self._large_waits = not self._large_waits, True
            return had_room
        if self._waiting + size > _MOST_WAITING:
            return False
        self._waiting += size
        return True

    def _is_sent(self, size: int) -> None:
        if size > _MOST_WAITING:
            self._large_waits = False
        else:
            self._waiting -= size

    async def _next(self, inbox: asyncio.Queue[bytes | None]) -> bytes | None:
        while True:
            try:
                async with asyncio.timeout(self._keep_alive):
                    return await inbox.get()
            except TimeoutError:
                await send_chunk(self._send, KEEP_ALIVE)

    async def _conclude(self, run: ActiveRun) -> None:
        try:
            result = await run.result()
        except Exception as error:  # noqa: BLE001 - every failure has a reply
            if error is self._departure:
                return
            _, body, _ = reply_to(error, self._route, self._thread)
            last = event_chunk("error", {**body, "thread": self._thread})
        else:
            last = event_chunk("result", result.to_dict())
        await send_chunk(self._send, last)
        await end_events(self._send)

    async def _fail(self, error: BaseException) -> None:
        if error is self._departure:
            return
        status, body, headers = reply_to(error, self._route, self._thread)
        # The thread of a request that was refused holds nothing of it.
        kept = {"thread": self._thread} if status >= _SERVER_FAILED else {}
        await send_json(self._send, status, {**body, **kept}, headers)

    @asynccontextmanager
    async def _watched(self, run: ActiveRun) -> AsyncIterator[None]:
        """Cancels the run when its client goes away, or this reply is given up."""
        watching = asyncio.create_task(self._watch(run))
        try:
            yield
        finally:
            watching.cancel()
            run.end(RunCancelled("the request was given up", code="run_cancelled"))

    async def _watch(self, run: ActiveRun) -> None:
        with suppress(OSError):
            while (await self._receive())["type"] != "http.disconnect":
                pass
        run.end(self._departure)


def _too_slow() -> BudgetError:
    return BudgetError(
        f"the client reads too slowly, bytes of events that wait: {_MOST_WAITING}",
        code="client_slow",
        hint="read the stream as it arrives, or ask without one",
    )
