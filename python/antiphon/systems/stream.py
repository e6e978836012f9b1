"""The events of a running question."""

from __future__ import annotations

import asyncio
import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from antiphon._antiphon import CancellationToken
from antiphon._event_loop import LoopScope, blocking_call, level_of_caller
from antiphon.errors import StateError
from antiphon.event import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _Show = Callable[[Event], None]
    _Inbox = queue.SimpleQueue[Any]

__all__ = ["AsyncSystemStream", "SystemStream"]

_R = TypeVar("_R")


class _StreamedQuestion(Generic[_R]):
    """A running question and, at its end, its result."""

    def __init__(self) -> None:
        self._result: _R | None = None
        self._over = False

    @property
    def result(self) -> _R:
        """The result, once there are no more events; of a closed stream ``cancelled``.

        Raises:
            StateError: it has not ended (``run_unfinished``).
        """
        if self._result is None:
            raise StateError(
                "the question has no result yet",
                code="run_unfinished",
                hint="read all events first, or close the stream",
            )
        return self._result


class SystemStream(_StreamedQuestion[_R], Generic[_R]):
    """The events of a running question, pieces of replies included; `result` afterwards.

    Created by `System.stream`. Closing it or leaving its ``with`` block cancels the question and
    waits for its end, after which its thread is free; dropping it only cancels the question.

    Args:
        ask: puts the question, showing each event, until it ends or is cancelled.
    """

    def __init__(self, ask: Callable[[_Show, CancellationToken], _R]) -> None:
        super().__init__()
        self._inbox: _Inbox = queue.SimpleQueue()
        self._token = CancellationToken()
        # The thread knows nothing of this object, so that it can be thrown away.
        work = (ask, self._inbox, self._token, level_of_caller())
        threading.Thread(target=_work, args=work, name="antiphon-stream", daemon=True).start()

    def close(self) -> None:
        """Cancels the question, if it is still running, and waits for its end."""
        if self._over:
            return
        self._over = True
        self._token.cancel("the stream was closed")
        item = self._inbox.get()
        while isinstance(item, Event):
            item = self._inbox.get()
        if not isinstance(item, BaseException):
            self._result = item

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._over:
            raise StopIteration
        try:
            item = blocking_call(level_of_caller(), self._inbox.get)
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if isinstance(item, Event):
            return item
        self._over = True
        if isinstance(item, BaseException):
            raise item
        self._result = item
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._token.cancel("the stream was dropped")


def _work(
    ask: Callable[[_Show, CancellationToken], Any],
    inbox: _Inbox,
    token: CancellationToken,
    level: int,
) -> None:
    try:
        with LoopScope(level):
            inbox.put(ask(inbox.put, token))
    except BaseException as error:  # noqa: BLE001 - raised where the stream is read
        inbox.put(error)


class AsyncSystemStream(_StreamedQuestion[_R], Generic[_R]):
    """The events of a running question, for ``async for``; pieces of replies included.

    Created by `System.astream`. Closing it or leaving its ``async with`` block cancels the
    question and waits for its end; dropping it only cancels the question.

    Args:
        ask: puts the question, showing each event, on any thread, until it ends or is cancelled.
    """

    def __init__(self, ask: Callable[[_Show, CancellationToken], Awaitable[_R]]) -> None:
        super().__init__()
        self._ask = ask
        self._token = CancellationToken()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Future[_R] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._over:
            raise StopAsyncIteration
        if self._task is None:
            self._task = self._begin()
        try:
            event = await self._events.get()
        except BaseException:  # the reader was cancelled
            await self.aclose()
            raise
        if event is not None:
            return event
        self._over = True
        self._result = await self._task
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Cancels the question, if it is still running, and waits for its end."""
        self._over = True
        if self._task is None or self._result is not None:
            return
        self._token.cancel("the stream was closed")
        await asyncio.gather(self._task, return_exceptions=True)
        if not self._task.cancelled() and self._task.exception() is None:
            self._result = self._task.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _begin(self) -> asyncio.Future[_R]:
        loop = asyncio.get_running_loop()
        # The task knows nothing of this object, so that it can be thrown away.
        put = self._events.put_nowait

        def show(event: Event) -> None:
            loop.call_soon_threadsafe(put, event)

        task = asyncio.ensure_future(self._ask(show, self._token))
        # In line behind the events, which came from other threads.
        task.add_done_callback(lambda _: loop.call_soon(put, None))
        return task

    def __del__(self) -> None:
        task = self._task
        if task is not None and not task.done():
            with suppress(RuntimeError):  # the loop is closed, and the task with it
                task.get_loop().call_soon_threadsafe(task.cancel)
