"""The words for what goes on in a data analyst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon.systems.narration import Narrator, Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.systems.narration import Narration, Words

__all__ = ["AnalystNarrator"]


def _told(data: dict[str, Any]) -> Iterator[Narration]:
    """The events that change what happens next; the trace has all."""
    agent, message, facts = str(data["agent"]), str(data["message"]), data["data"]
    # An API can say anything in its messages.
    event = (data["event_type"], message)
    if data["event_type"] == "error":
        wrong = facts.get("error") or "; ".join(facts.get("differences", ()))
        yield Said(f"{agent}: {message}: {wrong}")
    elif event == ("decision", "execution order"):
        yield Said(f"agents: {', '.join(facts['agents'])}")
    elif event == ("decision", "skipped"):
        yield Said(f"{agent}: skipped: {facts['reason']}")
    elif event == ("decision", "not in data"):
        yield Said(f"{agent}: the data does not hold: {facts['missing']}")
    elif event == ("decision", "query"):
        yield Said(f"{agent}: query: {facts['query']}")
    elif event == ("tool", "query"):
        yield Said(f"{agent}: rows: {facts['row_count']}")
    elif event == ("tool", "request"):
        yield Said(f"{agent}: {facts['method']} {facts['path']}: {facts['status']}")


class AnalystNarrator(Narrator):
    """Tells of the agents that are chosen, of queries and requests, and of what fails."""

    works: ClassVar[Mapping[str, str]] = {
        "plan": "planner chooses agents",
        "sql_write": "SQL writer writes a query",
        "sql_review": "SQL reviewer reads the query",
        "sql_answer": "SQL answerer words the result",
        "api_plan": "API planner plans a request",
        "api_answer": "API answerer words the reply",
        "compute": "the computation runs",
        "compose": "composer words the answer",
    }
    words: ClassVar[Words] = {"trace_event": _told}
