"""The events of a running question."""

from __future__ import annotations

import asyncio
import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from antiphon.errors import StateError
from antiphon.event import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _Show = Callable[[Event], None]
    _Letters = queue.SimpleQueue[Any]

__all__ = ["AsyncSystemStream", "SystemStream"]

_R = TypeVar("_R")


class _Watch(Generic[_R]):
    """A question under way, and in the end its result."""

    def __init__(self) -> None:
        self._result: _R | None = None
        self._over = False

    @property
    def result(self) -> _R:
        """What came of the question, once there are no more events.

        Raises:
            StateError: it is still under way, or was closed (``run_unfinished``).
        """
        if self._result is None:
            raise StateError(
                f"the question has no result yet: {'closed' if self._over else 'under way'}",
                code="run_unfinished",
                hint="read all events first",
            )
        return self._result


class SystemStream(_Watch[_R], Generic[_R]):
    """The events of a running question, pieces of replies included; `result` afterwards.

    Created by `System.stream`. Closing it, leaving its ``with`` block or dropping it stops the
    question at its next event.

    Args:
        ask: puts the question, showing each event to what it is given.
    """

    def __init__(self, ask: Callable[[_Show], _R]) -> None:
        super().__init__()
        self._letters: _Letters = queue.SimpleQueue()
        self._closed = threading.Event()
        # The thread knows nothing of this object, so that it can be thrown away.
        work = (ask, self._letters, self._closed)
        threading.Thread(target=_work, args=work, name="antiphon-stream", daemon=True).start()

    def close(self) -> None:
        """Stop the question at its next event, if it is still running."""
        self._over = True
        self._closed.set()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._over:
            raise StopIteration
        try:
            letter = self._letters.get()
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if isinstance(letter, Event):
            return letter
        self._over = True
        if isinstance(letter, BaseException):
            raise letter
        self._result = letter
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._closed.set()


def _work(ask: Callable[[_Show], Any], letters: _Letters, closed: threading.Event) -> None:
    def show(event: Event) -> None:
        if closed.is_set():
            raise _ClosedError
        letters.put(event)

    try:
        letters.put(ask(show))
    except BaseException as error:  # noqa: BLE001 - raised where the stream is read
        letters.put(error)


class AsyncSystemStream(_Watch[_R], Generic[_R]):
    """The events of a running question, for ``async for``; pieces of replies included.

    Created by `System.astream`. Closing it, leaving its ``async with`` block or dropping it
    stops the question.

    Args:
        ask: puts the question, showing each event to what it is given, on any thread.
    """

    def __init__(self, ask: Callable[[_Show], Awaitable[_R]]) -> None:
        super().__init__()
        self._ask = ask
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
        except BaseException:  # whoever reads was cancelled
            await self.aclose()
            raise
        if event is not None:
            return event
        self._over = True
        self._result = await self._task
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop the question, if it is still running."""
        self._over = True
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

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

        task = asyncio.ensure_future(self._ask(show))
        # In line behind the events, which came from other threads.
        task.add_done_callback(lambda _: loop.call_soon(put, None))
        return task

    def __del__(self) -> None:
        task = self._task
        if task is not None and not task.done():
            with suppress(RuntimeError):  # the loop is closed, and the task with it
                task.get_loop().call_soon_threadsafe(task.cancel)


class _ClosedError(Exception):
    """Nobody reads the stream any more."""
