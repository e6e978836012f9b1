"""Who sees the events of a run: a caller's function or a live view, and loggers."""

from __future__ import annotations

import inspect
import threading
import traceback
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from antiphon._watch.logs import event_logger
from antiphon._watch.views import live_view
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon._antiphon import Event

    Watch: TypeAlias = Callable[[Event], object] | bool | None
    """A function that receives events, or whether to show a live view."""


class Watcher:
    """Passes the events of one or several runs on, one after the other.

    The first failure of the caller's function is a `RuntimeWarning`; the run continues.

    Args:
        seen_by: what receives the events.
        close: called after the last event.
    """

    def __init__(
        self, seen_by: list[Callable[[Event], object]], close: Callable[[], object]
    ) -> None:
        self._seen_by = seen_by
        self._end = close
        # Batches run in threads. The function may start runs that it watches itself.
        self._lock = threading.RLock()
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Passes an event on."""
        with self._lock:
            for show in self._seen_by:
                self._guarded(show, event)

    def close(self) -> None:
        """Ends the live view."""
        with self._lock:
            self._guarded(self._end)

    def _guarded(self, function: Callable[..., object], *arguments: Any) -> None:
        """Calls a function whose failure must not end the run; the first one is reported."""
        try:
            function(*arguments)
        except Exception:  # noqa: BLE001 - every exception is reported
            if self._has_failed:
                return
            self._has_failed = True
            _report(traceback.format_exc())


def read_watch(watch: Any) -> Watcher | None:
    """The watcher of a start; ``None`` if nobody watches.

    Raises:
        ValidationError: `watch` is neither a function nor a bool (``input_invalid``).
    """
    seen_by: list[Callable[[Event], object]] = []
    close: Callable[[], object] = _nothing
    if watch is True:
        view = live_view()
        seen_by.append(view)
        close = view.close
    elif watch is not None and watch is not False:
        seen_by.append(watch_function(watch))
    log = event_logger()
    if log is not None:
        seen_by.append(log)
    return Watcher(seen_by, close) if seen_by else None


@contextmanager
def watching(watch: Any) -> Iterator[Watcher | None]:
    """`read_watch`, closed at the end; a watcher is passed on as it is."""
    if isinstance(watch, Watcher):
        yield watch
        return
    watcher = read_watch(watch)
    with closing_watcher(watcher):
        yield watcher


@contextmanager
def closing_watcher(watcher: Watcher | None) -> Iterator[None]:
    """Closes a watcher at the end, if there is one."""
    try:
        yield
    finally:
        if watcher is not None:
            watcher.close()


def watch_function(watch: Any) -> Callable[[Event], object]:
    """The function that receives events.

    Raises:
        ValidationError: it is none, or an async one (``input_invalid``).
    """
    if not callable(watch) or isinstance(watch, type):
        raise ValidationError(
            f"`watch` must be a function that takes an event, or True: {watch!r}",
            code="input_invalid",
            hint="`watch=print` prints each event; `watch=True` shows a live view",
        )
    if inspect.iscoroutinefunction(watch) or inspect.iscoroutinefunction(
        getattr(watch, "__call__", None)  # noqa: B004 - the method itself is wanted
    ):
        raise ValidationError(
            f"`watch` must be a sync function, because nobody awaits it: {watch!r}",
            code="input_invalid",
            hint="read the events of `astream` with `async for` to await for each",
        )
    function: Callable[[Event], object] = watch
    return function


def _nothing() -> None:
    """Ends nothing."""


def _report(text: str) -> None:
    try:
        warnings.warn(f"`watch` failed, the run continues:\n{text}", RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # a filter makes warnings exceptions, which would end the run
        traceback.print_exc()
