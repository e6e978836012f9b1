"""The progress of a deep research in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon._text import counted
from antiphon.systems.progress import Activity, ProgressLine, ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems.progress import EventReports, ProgressItem

__all__ = ["ResearchProgress"]

_ACTIVITIES = {
    "coordinator": "coordinator reads the question",
    "background": "background: first searches are chosen",
    "planner": "planner plans",
    "researcher": "researcher works on the step",
    "reflector": "reflector decides how to go on",
    "synthesiser": "synthesiser writes the report",
    "responder": "responder answers",
}


def _report_plan(data: dict[str, Any]) -> Iterator[ProgressItem]:
    yield ProgressLine(f"plan {data['iteration']}: {counted(len(data['steps']), 'step')}")
    for number, step in enumerate(data["steps"], 1):
        yield ProgressLine(f"step {number}: {step['title']}", 2)


class ResearchProgress(ProgressReporter):
    """Reports plans, steps and the decisions of the reflector."""

    event_reports: ClassVar[EventReports] = {
        "agent_started": lambda data: [
            Activity(_ACTIVITIES.get(str(data["agent"]), str(data["agent"])))
        ],
        "plan_created": _report_plan,
        "step_started": lambda data: [
            ProgressLine(f"step {data['step_index'] + 1}: {data['step_title']}")
        ],
        "reflection_decision": lambda data: [ProgressLine(f"reflection: {data['decision']}")],
        "steps_skipped": lambda data: [ProgressLine(f"skipped: {', '.join(data['titles'])}")],
        "error": lambda data: [ProgressLine(f"{data['error_code']}: {data['error_message']}")],
    }
