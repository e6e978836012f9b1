"""Signals that stop a command which works until it is told to stop."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from antiphon._cli.exit_codes import Exit
from antiphon._cli.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Callable


class StopSignals:
    """Stops with the first SIGINT or SIGTERM, and faster with the second one.

    Args:
        stop: called with whether it is a second signal.
        first: what is said at the first signal.
        second: what is said at another one.
    """

    def __init__(self, stop: Callable[[bool], object], *, first: str, second: str) -> None:
        self._received: int | None = None
        self._stop = stop
        self._said = (first, second)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, self._receive)

    @property
    def exit(self) -> Exit:
        """The exit code: interrupted by Ctrl-C, or ended as it should."""
        return Exit.INTERRUPTED if self._received == signal.SIGINT else Exit.ANSWERED

    def _receive(self, number: int, frame: object) -> None:
        del frame
        is_second = self._received is not None
        self._received = self._received or number
        tell(self._said[is_second])
        self._stop(is_second)
