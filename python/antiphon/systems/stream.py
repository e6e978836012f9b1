"""A question under way, event by event."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Self

from antiphon.errors import StateError
from antiphon.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Event as NativeEvent
    from antiphon.systems.result import ReviewLoopResult

    _Ask = Callable[[Callable[[NativeEvent], None]], ReviewLoopResult]

__all__ = ["ReviewLoopStream"]


class ReviewLoopStream:
    """A question under way: iterate over it for its events, pieces of replies included.

    Made by `ReviewLoop.stream`. Closing it, or leaving its ``with``, stops the question at
    its next event.

    Args:
        ask: puts the question, showing each event to what it is given.
    """

    def __init__(self, ask: _Ask) -> None:
        self._ask = ask
        self._letters: queue.SimpleQueue[Event | BaseException | ReviewLoopResult]
        self._letters = queue.SimpleQueue()
        self._closed = threading.Event()
        self._result: ReviewLoopResult | None = None
        self._over = False
        self._thread = threading.Thread(target=self._work, name="antiphon-stream", daemon=True)
        self._thread.start()

    @property
    def result(self) -> ReviewLoopResult:
        """What came of the question, once there are no more events.

        Raises:
            StateError: it is still under way, or was closed (``run_unfinished``).
        """
        if self._result is None:
            raise StateError(
                f"the question has no result yet: {'closed' if self._over else 'under way'}",
                code="run_unfinished",
                hint="take all events first",
            )
        return self._result

    def close(self) -> None:
        """Stops the question at its next event, if it is still under way."""
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

    def _work(self) -> None:
        try:
            self._letters.put(self._ask(self._show))
        except BaseException as error:  # noqa: BLE001 - raised where the stream is read
            self._letters.put(error)

    def _show(self, event: NativeEvent) -> None:
        if self._closed.is_set():
            raise _ClosedError
        self._letters.put(Event.of(event))


class _ClosedError(Exception):
    """Nobody reads the stream any more."""
