"""The words for what goes on in a data analyst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon.systems.narration import Narrator, Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems.narration import Narration, Words

__all__ = ["AnalystNarrator"]


def _told(data: dict[str, Any]) -> Iterator[Narration]:
    """The events that change what happens next; the trace has all."""
    agent, message, facts = str(data["agent"]), str(data["message"]), data["data"]
    if data["event_type"] == "error":
        wrong = facts.get("error") or "; ".join(facts.get("differences", ()))
        yield Said(f"{agent}: {message}: {wrong}")
    elif message == "execution order":
        yield Said(f"agents: {', '.join(facts['agents'])}")
    elif message == "skipped":
        yield Said(f"{agent}: skipped: {facts['reason']}")
    elif data["event_type"] == "decision" and message == "query":
        yield Said(f"{agent}: query: {facts['query']}")
    elif data["event_type"] == "tool" and message == "query":
        yield Said(f"{agent}: rows: {facts['row_count']}")
    elif message == "request":
        yield Said(f"{agent}: {facts['method']} {facts['path']}: {facts['status']}")


class AnalystNarrator(Narrator):
    """Tells of the agents that are chosen, of queries and requests, and of what fails."""

    words: ClassVar[Words] = {"trace_event": _told}
