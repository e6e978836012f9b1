"""The progress of a data analyst in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon.systems.progress import ProgressLine, ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from antiphon.systems.progress import EventReports, ProgressItem

__all__ = ["AnalystProgress"]


_REPORTED: Mapping[tuple[str, str], Callable[[dict[str, Any]], str]] = {
    ("decision", "skipped"): lambda facts: f"skipped: {facts['reason']}",
    ("decision", "query"): lambda facts: f"query: {facts['query']}",
    ("decision", "query mended"): lambda facts: f"query mended: {facts['query']}",
    ("tool", "query"): lambda facts: f"rows: {facts['row_count']}",
    ("tool", "request"): lambda facts: (
        f"{facts['method']} {facts['path']}: {facts.get('error') or facts['status']}"
    ),
}
"""Events of agents by type and message. A message alone may be the text of an API."""


def _report_event(data: dict[str, Any]) -> Iterator[ProgressItem]:
    """Describe an event that changes what happens next; the trace has all events."""
    agent, message, facts = str(data["agent"]), str(data["message"]), data["data"]
    event = (str(data["event_type"]), message)
    if event == ("decision", "execution order"):
        yield ProgressLine(f"agents: {', '.join(facts['agents'])}")
    elif event in _REPORTED:
        yield ProgressLine(f"{agent}: {_REPORTED[event](facts)}")
    elif data["event_type"] == "error":
        wrong = facts.get("error") or "; ".join(facts.get("differences", ()))
        yield ProgressLine(f"{agent}: {message}: {wrong}")


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
