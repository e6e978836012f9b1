"""The progress of a review loop in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from antiphon._text import counted
from antiphon.systems.progress import Activity, ProgressLine, ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.event import Event
    from antiphon.systems.progress import EventReports, ProgressItem

__all__ = ["ReviewProgress"]

_ACTIVITIES = {
    "planner": "planner plans",
    "critic_planner": "critic reviews the plan",
    "critic_researcher": "critic reviews the research",
    "expert": "expert works out the answer",
    "critic_expert": "critic reviews the answer",
}
"""Activities by step. A researcher and a finalizer begin later, with events of their own."""
_GIVEN_UP = {
    "answer_not_known",
    "failed",
    "limit_reached",
    "no_progress",
    "plan_not_known",
    "result_missing",
    "unknown_step",
    "verdict_missing",
}
"""Rules that end the question, so that no activity follows."""
_PRODUCTS = {"planner": "plan", "researcher": "research", "expert": "answer"}


def _report_step(data: dict[str, Any]) -> Iterator[ProgressItem]:
    if data["rule"] not in _GIVEN_UP and data["to"] in _ACTIVITIES:
        yield Activity(_ACTIVITIES[data["to"]])


def _report_plan(data: dict[str, Any]) -> Iterator[ProgressItem]:
    if data.get("known") is False:
        yield ProgressLine("plan: this cannot be known")
        return
    steps = {kind: data[f"{kind}_steps"] for kind in ("research", "expert")}
    counts = (counted(len(own), f"{kind} step") for kind, own in steps.items())
    yield ProgressLine(f"plan: {', '.join(counts)}")
    for kind, own in steps.items():
        for number, step in enumerate(own, 1):
            yield ProgressLine(f"{kind} {number}: {step}", 2)


def _report_product(data: dict[str, Any]) -> Iterator[ProgressItem]:
    """Report what a researcher or the expert delivers, and no other message."""
    message = data["message"]
    if message["sender"] == "researcher":
        yield ProgressLine(f"found: {message['content']}")
    elif message["sender"] == "expert":
        yield ProgressLine(f"answer: {json.loads(message['content'])['expert_answer']}")


def _report_verdict(data: dict[str, Any]) -> Iterator[ProgressItem]:
    product = _PRODUCTS.get(str(data["target"]), str(data["target"]))
    if "index" in data:
        product += f" {int(data['index']) + 1}"
    if data["decision"] == "approve":
        yield ProgressLine(f"{product} approved")
    elif data["decision"] == "not_known":
        yield ProgressLine(f"{product} is a guess: {data['feedback']}")
    else:
        lacking = " for want of research" if data.get("needs_research") else ""
        yield ProgressLine(f"{product} rejected{lacking}: {data['feedback']}")


class ReviewProgress(ProgressReporter):
    """Keeps the research steps of the plan, since events name a step by its index."""

    # A plain answer needs no finalizer, so the decision alone announces none.
    activities: ClassVar[Mapping[str, str]] = {"finalizer": "finalizer shortens the answer"}
    event_reports: ClassVar[EventReports] = {
        "step_determined": _report_step,
        "plan_created": _report_plan,
        "message_sent": _report_product,
        "verdict": _report_verdict,
        "retry": lambda data: [
            ProgressLine(f"retry {data['count']} of {data['limit']}: {data['agent']}")
        ],
        "agent_error": lambda data: [
            ProgressLine(f"error in {data['component']}: {data['message']}")
        ],
        "retry_limit_reached": lambda data: [ProgressLine(f"given up: {data['agent']}")],
        "final_answer_refused": lambda data: [
            ProgressLine(f"short form refused, {data['changed']}: {data['answer']}")
        ],
    }

    def __init__(self) -> None:
        self._steps: list[str] = []

    def report(self, event: Event) -> Iterator[ProgressItem]:
        """Describe an event."""
        if event.kind == "custom" and event.name == "research_started":
            yield Activity(self._research_activity(int(event.data["index"])))
            return
        if event.kind == "custom" and event.name == "plan_created":
            self._steps = list(event.data["research_steps"])
        yield from super().report(event)

    def _research_activity(self, index: int) -> str:
        work = f"research step {index + 1}"
        # The plan of a resumed question was made in another run.
        if index >= len(self._steps):
            return work
        return f"{work} of {len(self._steps)}: {self._steps[index]}"
