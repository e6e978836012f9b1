"""How the end of a run becomes a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._orchestrator.state import RECORDED
from antiphon.errors import BudgetError
from antiphon.result import Outcome, Result, Usage

if TYPE_CHECKING:
    from antiphon._antiphon import Run
    from antiphon._orchestrator.state import State


_TURNS = {"supersteps", "retries", "turns"}
"""Limits that stand for too many rounds rather than for too much spent."""
_NOTE = "raised by the node "
_LIMITS = {"budget_exhausted", "agent_turns_exhausted"}
"""Not a provider's: that the account is empty is a failure."""


def finish(run: Run, error: BaseException | None, state: State, team: str) -> Result:
    """The result of a run that ended, paused, or failed with `error`."""
    raw = run.values
    has_failed = bool(raw.get(RECORDED))
    outcome, detail = how_it_ended(run.outcome, run.detail, error, has_failed=has_failed)
    counts = {key: value for key, value in run.spent.items() if key != "supersteps"}
    usage = Usage(**counts, steps=run.steps)
    return Result(
        run,
        state=state.show(raw) if run.begun else {},
        outcome=outcome,
        detail=detail,
        usage=usage,
        team=team,
        error=error if outcome == "error" else None,
    )


def is_limit(error: BaseException | None) -> bool:
    """Whether a failure only says that a limit of the team or of an agent is reached."""
    return isinstance(error, BudgetError) and error.code in _LIMITS


def name_agent(run: Run, error: BaseException) -> None:
    """Notes on a failure of a model which agent asked it; others carry a note already."""
    if any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        return
    failed = [event for event in run.events if event.kind == "error" and event.path]
    if failed:
        error.add_note(f"{_NOTE}`{failed[-1].path[-1]}`")


def how_it_ended(
    ended: str, detail: str, error: BaseException | None, *, has_failed: bool = False
) -> tuple[Outcome, str]:
    """A run's outcome and detail, from those of the engine."""
    if isinstance(error, BudgetError) and is_limit(error):
        dimension = str(error.details.get("dimension", "turns"))
        return ("retry_limit" if dimension in _TURNS else "budget"), dimension
    if error is not None:
        return "error", f"{type(error).__name__}: {error}"
    if ended == "budget":
        return ("retry_limit" if detail in _TURNS else "budget"), detail
    if ended == "paused":
        return "paused", ""
    if ended == "cancelled":
        return "cancelled", detail
    return ("error", "an agent failed") if has_failed else ("answered", "")
