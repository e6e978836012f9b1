"""A batch in a file, shown to whoever watches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from antiphon._orchestrator.batch import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.event import Event

__all__ = ["Shown"]


class Shown:
    """A progress bar for a person, and events for the caller.

    Args:
        label: what the bar says.
        watch: the caller's.
    """

    def __init__(self, label: str, watch: Callable[[Event], object] | None) -> None:
        self._label = label
        self._watch = watch
        self._open = ExitStack()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def __call__(self, event: Event) -> None:
        """Shows what an event says."""
        data = event.data
        if event.name == "batch_started":
            left = max(data["lines"] - data["done"], 0)
            self._bar = self._open.enter_context(Progress(left, self._label))
        elif self._bar is not None and event.name in {"question_finished", "line_refused"}:
            self._bar.advance(failed=data.get("outcome") != "answered")
        if self._watch is not None:
            self._watch(event)
