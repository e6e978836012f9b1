"""The progress of a batch: a bar for a person, and events for the caller."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from antiphon._progress import BatchProgressBar
from antiphon._watch.watcher import watch_function
from antiphon.errors import ValidationError
from antiphon.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable


class EventReporter:
    """Creates the events of a batch, in order, and passes each to `watch`."""

    def __init__(self, watch: Callable[[Event], object]) -> None:
        self._watch = watch
        self._batch = str(uuid.uuid4())
        self._count = 0

    def report(
        self, name: str, data: dict[str, Any], level: Literal["info", "warning"] = "info"
    ) -> None:
        """Reports an event."""
        self._count += 1
        now = datetime.now(UTC)
        self._watch(Event(self._batch, self._count, now, (), "custom", name, data, level))


class BatchProgress:
    """A progress bar for a person, and events for the caller."""

    def __init__(self, label: str, watch: Callable[[Event], object] | None) -> None:
        if isinstance(watch, bool):
            raise ValidationError(
                f"`watch` of a batch file must be a function that takes an event: {watch}",
                code="input_invalid",
                hint="leave it out for the progress bar; `watch=print` prints each event",
            )
        self._label = label
        self._watch = None if watch is None else watch_function(watch)
        self._open = ExitStack()
        self._bar: BatchProgressBar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        data = event.data
        if event.name == "batch_started":
            left = max(data["lines"] - data["done"], 0)
            self._bar = self._open.enter_context(BatchProgressBar(left, self._label))
        elif self._bar is not None and event.name in {"question_finished", "line_refused"}:
            self._bar.advance(failed=data.get("outcome") not in {"answered", "paused"})
        if self._watch is not None:
            self._watch(event)
