"""What goes on in a question, in words: a system gives them, and commands show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.event import Event

__all__ = ["Narration", "Narrator", "Said", "Words", "Work"]


class Work(NamedTuple):
    """What goes on from now on.

    Attributes:
        text: who does what, without a full stop.
    """

    text: str


class Said(NamedTuple):
    """What has come out.

    Attributes:
        text: the line.
        depth: how far it is indented, in steps.
    """

    text: str
    depth: int = 1


Narration = Work | Said

Words = Mapping[str, Callable[[dict[str, Any]], Iterable[Narration]]]
"""What is said of an event, by its name, from its data."""


class Narrator:
    """Says in words what the events of one question mean.

    A system derives from it and gives `works` and `words`, or overrides `narrate` if what an event
    means depends on those before. Calls of tools are shown without it.

    Attributes:
        works: what goes on in a node, by its name.
        words: what is said of each event of the system.
    """

    works: ClassVar[Mapping[str, str]] = {}
    words: ClassVar[Words] = {}

    def narrate(self, event: Event) -> Iterator[Narration]:
        """What is said of an event; nothing of those that have no words."""
        if event.kind == "node_started" and event.path:
            node = str(event.path[-1]).partition("#")[0]
            if node in self.works:
                yield Work(self.works[node])
        elif event.kind == "custom" and event.name in self.words:
            yield from self.words[event.name](event.data)
