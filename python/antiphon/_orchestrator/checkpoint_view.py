"""Checkpoints of a team's threads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from antiphon._faults import from_fault
from antiphon._orchestrator.flow import START
from antiphon._orchestrator.outcome import how_it_ended
from antiphon._orchestrator.state import RECORDED
from antiphon.checkpoint import Checkpoint
from antiphon.errors import RunCancelled
from antiphon.result import Question

if TYPE_CHECKING:
    from antiphon._orchestrator.state import State
    from antiphon.result import Outcome


_SOURCES: dict[str, Literal["input", "step", "update"]] = {"loop": "step"}


def as_checkpoint(shown: dict[str, Any], thread: str, state: State) -> Checkpoint:
    """A checkpoint as the engine shows it, for the users of a team."""
    outcome, detail = _outcome(shown)
    asked = (question for task in shown["tasks"] for question in task["interrupts"])
    return Checkpoint(
        id=shown["checkpoint"],
        thread=thread,
        parent=shown["parent"],
        step=shown["step"],
        at=datetime.fromtimestamp(shown["at"], UTC),
        source=_SOURCES.get(shown["source"], shown["source"]),
        wrote=tuple(name for name in shown["wrote"] if name != START),
        next=shown["next"],
        state=state.show(shown["values"]),
        questions=tuple(Question(key, path[-1], value) for key, path, value in asked),
        outcome=outcome,
        detail=detail,
        run_id=shown["run_id"] or "",
    )


def _outcome(shown: dict[str, Any]) -> tuple[Outcome | None, str]:
    """The outcome and detail of a run that ended there."""
    if shown["paused"]:
        return "paused", ""
    if shown["outcome"] is None:
        return None, ""
    if shown["fault"] is not None:
        error = from_fault(shown["fault"])
        if isinstance(error, RunCancelled):
            # Ctrl-C, while an agent had the only thread there is.
            return "cancelled", error.message
        outcome, detail = how_it_ended("failed", error.message, error)
        return outcome, detail if outcome != "error" else error.message
    has_failed = bool(shown["values"].get(RECORDED))
    return how_it_ended(shown["outcome"], shown["detail"], None, has_failed=has_failed)
