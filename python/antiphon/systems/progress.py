"""Progress of a question in words: a system describes its events, and commands show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.event import Event

__all__ = ["Activity", "EventReports", "ProgressItem", "ProgressLine", "ProgressReporter"]


class Activity(NamedTuple):
    """Work that has begun and lasts until the next activity.

    Attributes:
        text: who does what, without a full stop.
    """

    text: str


class ProgressLine(NamedTuple):
    """A line that stays, such as an intermediate result or a failure.

    Attributes:
        text: the line.
        depth: indentation steps.
    """

    text: str
    depth: int = 1


ProgressItem = Activity | ProgressLine

EventReports = Mapping[str, Callable[[dict[str, Any]], Iterable[ProgressItem]]]
"""Functions from the data of an event to what is shown, by the event's name."""


class ProgressReporter:
    """Describes the events of one question for people who wait.

    A system subclasses it and sets `activities` and `event_reports`, or overrides `report` if the
    description of an event depends on earlier ones. Commands show tool calls by themselves.

    Attributes:
        activities: the activity of a node, by the node's name.
        event_reports: how to describe each event of the system.
    """

    activities: ClassVar[Mapping[str, str]] = {}
    event_reports: ClassVar[EventReports] = {}

    def report(self, event: Event) -> Iterator[ProgressItem]:
        """Describe an event; yield nothing for an event without a description."""
        if event.kind == "node_started" and event.path:
            node = str(event.path[-1]).partition("#")[0]
            if node in self.activities:
                yield Activity(self.activities[node])
        elif event.kind == "custom" and event.name in self.event_reports:
            yield from self.event_reports[event.name](event.data)
