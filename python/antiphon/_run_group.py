"""The runs of a batch, and those that their agents start: they are stopped together."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import WeakSet

from antiphon._event_loop import on_own_loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from antiphon._antiphon import Run

    _T = TypeVar("_T")

_REASON = "the batch was cancelled"


class RunGroup:
    """Runs that end together.

    The thread of a run that is inside a sync agent reads no cancellation until the agent returns.
    So the calls of its agents look here first, by the context variables of the thread.
    """

    def __init__(self, within: RunGroup | None) -> None:
        self._within = within
        self._runs: WeakSet[Run] = WeakSet()
        self._lock = threading.Lock()
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether its runs are to end, or those of the group that it is a part of."""
        return self._is_stopped or (self._within is not None and self._within.is_stopped)

    def add(self, run: Run) -> None:
        """Adds a run, which is cancelled at once if the group has been stopped."""
        if self._within is not None:
            self._within.add(run)
        with self._lock:
            self._runs.add(run)
        if self._is_stopped:
            run.cancel(_REASON)

    def stop(self) -> None:
        """Cancels its runs, from any thread."""
        with self._lock:
            self._is_stopped = True
            runs = list(self._runs)
        for run in runs:
            if run.outcome == "running":
                run.cancel(_REASON)

    def around(self, call: Callable[[], _T]) -> _T:
        """Makes a call whose runs belong to the group."""
        token = _current.set(self)
        try:
            return call()
        finally:
            _current.reset(token)


_current: ContextVar[RunGroup | None] = ContextVar("antiphon_run_group", default=None)


def current_group() -> RunGroup | None:
    """The group that the code here works for, if any."""
    return _current.get()


def check_not_stopped() -> None:
    """Ends a sync agent whose run is to end, as Ctrl-C ends one on the main thread.

    Raises:
        KeyboardInterrupt: the group of its run has been stopped. No policy for failures catches it.
    """
    group = _current.get()
    if group is not None and group.is_stopped and not on_own_loop():
        raise KeyboardInterrupt(_REASON)
