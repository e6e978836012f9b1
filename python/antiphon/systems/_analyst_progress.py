"""The progress of a data analyst in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon.systems.progress import ProgressLine, ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.systems.progress import EventReports, ProgressItem

__all__ = ["AnalystProgress"]


def _report_event(data: dict[str, Any]) -> Iterator[ProgressItem]:
    """Describe an event that changes what happens next; the trace has all events."""
    agent, message, facts = str(data["agent"]), str(data["message"]), data["data"]
    # A message alone may be the text of an API.
    event = (data["event_type"], message)
    if data["event_type"] == "error":
        wrong = facts.get("error") or "; ".join(facts.get("differences", ()))
        yield ProgressLine(f"{agent}: {message}: {wrong}")
    elif event == ("decision", "execution order"):
        yield ProgressLine(f"agents: {', '.join(facts['agents'])}")
    elif event == ("decision", "skipped"):
        yield ProgressLine(f"{agent}: skipped: {facts['reason']}")
    elif event == ("decision", "not in data"):
        yield ProgressLine(f"{agent}: the data does not hold: {facts['missing']}")
    elif event == ("decision", "query"):
        yield ProgressLine(f"{agent}: query: {facts['query']}")
    elif event == ("tool", "query"):
        yield ProgressLine(f"{agent}: rows: {facts['row_count']}")
    elif event == ("tool", "request"):
        yield ProgressLine(f"{agent}: {facts['method']} {facts['path']}: {facts['status']}")


class AnalystProgress(ProgressReporter):
    """Reports the chosen agents, queries, requests and failures."""

    activities: ClassVar[Mapping[str, str]] = {
        "plan": "planner chooses agents",
        "sql_write": "SQL writer writes a query",
        "sql_review": "SQL reviewer reads the query",
        "sql_answer": "SQL answerer words the result",
        "api_plan": "API planner plans a request",
        "api_answer": "API answerer words the reply",
        "compute": "the computation runs",
        "compose": "composer words the answer",
    }
    event_reports: ClassVar[EventReports] = {"trace_event": _report_event}
