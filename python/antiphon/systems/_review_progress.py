"""The words for what goes on in a review loop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from antiphon._text import counted
from antiphon.systems.narration import Narrator, Said, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon.event import Event
    from antiphon.systems.narration import Narration, Words

__all__ = ["ReviewNarrator"]

_WORK = {
    "planner": "planner plans",
    "critic_planner": "critic reviews the plan",
    "critic_researcher": "critic reviews the research",
    "expert": "expert works out the answer",
    "critic_expert": "critic reviews the answer",
}
"""Steps that are worked at once they are determined; the others have events of their own."""
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
"""Rules that end the question: what follows is no work."""
_PRODUCTS = {"planner": "plan", "researcher": "research", "expert": "answer"}


def _determined(data: dict[str, Any]) -> Iterator[Narration]:
    if data["rule"] not in _GIVEN_UP and data["to"] in _WORK:
        yield Work(_WORK[data["to"]])


def _planned(data: dict[str, Any]) -> Iterator[Narration]:
    if data.get("known") is False:
        yield Said("plan: this cannot be known")
        return
    steps = {kind: data[f"{kind}_steps"] for kind in ("research", "expert")}
    counts = (counted(len(own), f"{kind} step") for kind, own in steps.items())
    yield Said(f"plan: {', '.join(counts)}")
    for kind, own in steps.items():
        for number, step in enumerate(own, 1):
            yield Said(f"{kind} {number}: {step}", 2)


def _delivered(data: dict[str, Any]) -> Iterator[Narration]:
    """What a researcher or the expert delivers; nothing of others."""
    message = data["message"]
    if message["sender"] == "researcher":
        yield Said(f"found: {message['content']}")
    elif message["sender"] == "expert":
        yield Said(f"answer: {json.loads(message['content'])['expert_answer']}")


def _judged(data: dict[str, Any]) -> Iterator[Narration]:
    product = _PRODUCTS.get(str(data["target"]), str(data["target"]))
    if "index" in data:
        product += f" {int(data['index']) + 1}"
    if data["decision"] == "approve":
        yield Said(f"{product} approved")
    elif data["decision"] == "not_known":
        yield Said(f"{product} is a guess: {data['feedback']}")
    else:
        yield Said(f"{product} rejected: {data['feedback']}")


class ReviewNarrator(Narrator):
    """Knows the research steps of the plan, which events name by their index."""

    # A plain answer needs no finalizer, and then none starts.
    works: ClassVar[Mapping[str, str]] = {"finalizer": "finalizer shortens the answer"}
    words: ClassVar[Words] = {
        "step_determined": _determined,
        "plan_created": _planned,
        "message_sent": _delivered,
        "verdict": _judged,
        "retry": lambda data: [Said(f"retry {data['count']} of {data['limit']}: {data['agent']}")],
        "agent_error": lambda data: [Said(f"error in {data['component']}: {data['message']}")],
        "retry_limit_reached": lambda data: [Said(f"given up: {data['agent']}")],
        "final_answer_refused": lambda data: [
            Said(f"short form refused, {data['changed']}: {data['answer']}")
        ],
    }

    def __init__(self) -> None:
        self._steps: list[str] = []

    def narrate(self, event: Event) -> Iterator[Narration]:
        """What is said of an event."""
        if event.kind == "custom" and event.name == "research_started":
            yield Work(self._research(int(event.data["index"])))
            return
        if event.kind == "custom" and event.name == "plan_created":
            self._steps = list(event.data["research_steps"])
        yield from super().narrate(event)

    def _research(self, index: int) -> str:
        work = f"research step {index + 1}"
        # A resumed question has its plan from before.
        if index >= len(self._steps):
            return work
        return f"{work} of {len(self._steps)}: {self._steps[index]}"
