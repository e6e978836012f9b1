"""The roles of the review loop: what an agent that has one is given, and what it replies."""

from __future__ import annotations

from functools import partial
from typing import Any

from antiphon._roles import RoleSpec

__all__ = ["ROLE_SPECS", "brief_view"]

_REPLIES = {
    "planner": ("research_steps", "expert_steps"),
    "critic": ("decision", "feedback"),
    "researcher": ("result",),
    "expert": ("expert_answer", "reasoning_trace"),
    "finalizer": ("final_answer", "final_reasoning_trace"),
}
_SPEAKING = {"researcher", "expert", "finalizer"}

_WORK = ("step", "index", "attempt", "instruction", "messages", "schema")
_ASKED = ("question", "asked_on", "file")
_OWN = {
    "planner": ("feedback", "research_tools", "expert_tools"),
    "researcher": ("feedback", "research_step", "earlier_results"),
    "expert": ("feedback", "research_steps", "research_results", "expert_steps"),
    "finalizer": ("research_steps", "research_results", "expert_answer", "expert_reasoning"),
}
_REVIEWED = {
    "planner": ("research_steps", "expert_steps"),
    "researcher": ("research_step", "result", "tool_calls"),
    "expert": (
        "research_steps",
        "research_results",
        "expert_answer",
        "expert_reasoning",
        "tool_calls",
    ),
}


def brief_view(role: str, brief: dict[str, Any], *, minimal: bool) -> dict[str, Any]:
    """The brief as an agent sees it, by the keys that docs/guides/review-loop.md lists.

    Args:
        role: the role.
        brief: what the engine knows.
        minimal: whether a critic sees the work under review alone.
    """
    known = {**brief, "index": brief["step_id"], **_research(brief)}
    if role != "critic":
        return {key: known[key] for key in (*_WORK, *_ASKED, *_OWN[role])}
    target = brief["step"].removeprefix("critic_")
    known |= {"target": target, "work": _work(target, known)}
    seen = () if minimal else (*_ASKED, *_REVIEWED[target])
    return {key: known[key] for key in (*_WORK, "target", "work", *seen)}


def _research(brief: dict[str, Any]) -> dict[str, Any]:
    """The research step that the brief is about, and what was found."""
    index = brief["step_id"]
    if index is None:
        return {}
    steps, results = brief["research_steps"], brief["research_results"]
    found = results[index] if index < len(results) else None
    return {"research_step": steps[index] if index < len(steps) else "", "result": found or ""}


def _work(target: str, known: dict[str, Any]) -> str:
    """What is under review, as a text."""
    if target == "planner":
        return "\n".join([*known["research_steps"], *known["expert_steps"]])
    return str(known["result"] if target == "researcher" else known["expert_answer"])


ROLE_SPECS = {
    role: RoleSpec(
        role,
        replies,
        role in _SPEAKING,
        partial(brief_view, role, minimal=False),
        unanswered={"known": False} if role == "expert" else {},
    )
    for role, replies in _REPLIES.items()
}
"""The roles, by name."""
