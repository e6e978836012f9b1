"""Driving runs while somebody watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from antiphon._sync_async import Operation, drive

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Event, Run

    Show: TypeAlias = Callable[[Event], object]
    """Receives an event."""


def driving(run: Run, show: Show | None) -> Operation:
    """Driving a run until it ends or pauses, watched or not."""
    if show is None:
        return drive(run)
    relay = _EventRelay(run, show)
    return Operation(relay.drain, relay.adrain)


class _EventRelay:
    """Drives a run and passes its events on.

    A resumed run that nobody watched from its start has no stream: its events come at the end.
    """

    def __init__(self, run: Run, show: Show) -> None:
        self._run = run
        self._show = show
        self._known = len(run.events)
        self._is_streamed = False

    def drain(self) -> None:
        """Waits for the end or a pause."""
        try:
            for event in self._run:
                self._pass_on(event)
        finally:
            self._finish()

    async def adrain(self) -> None:
        """`drain`, awaited."""
        try:
            async for event in self._run:
                self._pass_on(event)
        finally:
            self._finish()

    def _pass_on(self, event: Event) -> None:
        self._is_streamed = True
        self._show(event)

    def _finish(self) -> None:
        if not self._is_streamed:
            for event in self._run.events[self._known :]:
                self._show(event)
