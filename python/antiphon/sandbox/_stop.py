"""How a run of an engine in Python is told to stop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Stop"]


class Stop:
    """Tells a run to stop; what stops it is registered by the engine.

    Example:
        >>> stop = Stop()
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
        """Why it has to stop; ``None`` while it need not."""
        return self._reason

    def stop(self, reason: str) -> None:
        """Stops the run; the first reason counts."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            actions, self._actions = self._actions, []
        for action in actions:
            action(reason)

    def on(self, action: Callable[[str], None]) -> None:
        """Has `action` called with the reason: once, at once if it is known already."""
        with self._lock:
            if self._reason is None:
                self._actions.append(action)
                return
            reason = self._reason
        action(reason)

    def off(self, action: Callable[[str], None]) -> None:
        """Forgets an action that has not been called."""
        with self._lock:
            if action in self._actions:
                self._actions.remove(action)
