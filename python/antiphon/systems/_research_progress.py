"""The words for what goes on in a research."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from antiphon._text import counted
from antiphon.systems.narration import Narrator, Said, Work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.systems.narration import Narration, Words

__all__ = ["ResearchNarrator"]

_WORKS = {
    "coordinator": "coordinator reads the question",
    "background": "background: first searches are chosen",
    "planner": "planner plans",
    "researcher": "researcher works on the step",
    "reflector": "reflector decides how to go on",
    "synthesiser": "synthesiser writes the report",
    "responder": "responder answers",
}


def _planned(data: dict[str, Any]) -> Iterator[Narration]:
    yield Said(f"plan {data['iteration']}: {counted(len(data['steps']), 'step')}")
    for number, step in enumerate(data["steps"], 1):
        yield Said(f"step {number}: {step['title']}", 2)


class ResearchNarrator(Narrator):
    """Tells of plans, steps and what the reflector decides."""

    words: ClassVar[Words] = {
        "agent_started": lambda data: [Work(_WORKS.get(str(data["agent"]), str(data["agent"])))],
        "plan_created": _planned,
        "step_started": lambda data: [Said(f"step {data['step_index'] + 1}: {data['step_title']}")],
        "reflection_decision": lambda data: [Said(f"reflection: {data['decision']}")],
        "steps_skipped": lambda data: [Said(f"skipped: {', '.join(data['titles'])}")],
        "error": lambda data: [Said(f"{data['error_code']}: {data['error_message']}")],
    }
