"""How the end of a run becomes a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.state import CUT, RECORDED, delivered
from antiphon.errors import BudgetError, ModelOutputError
from antiphon.result import Outcome, Result, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Run
    from antiphon._orchestrator.state import State


_ENDS: dict[str, tuple[Outcome, str]] = {
    "supersteps": ("step_limit", "max_steps"),
    "max_steps": ("step_limit", "max_steps"),
    "retries": ("retry_limit", "retries"),
}
"""The outcomes and details of limits that are no budget."""
_MODEL_CALLS = "model_calls_exhausted"
_NOTE = "raised by the node "
_LIMITS = {"budget_exhausted", _MODEL_CALLS}
"""Not a provider's: that the account is empty is a failure."""


def finish(run: Run, error: BaseException | None, state: State, team: str) -> Result[Any, Any]:
    """The result of a run that ended, paused, or failed with `error`."""
    raw = run.values
    outcome, detail = how_it_ended(run.outcome, run.detail, error, raw)
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


def name_agent(run: Run, error: BaseException, expected: Mapping[str, str]) -> None:
    """Notes on a failure of a model which agent asked it; others carry a note already.

    The hint says what a router of the team expects of its model.
    """
    if any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        return
    failed = [event for event in run.events if event.kind == "error" and event.path]
    if failed:
        agent = failed[-1].path[-1]
        error.add_note(f"{_NOTE}`{agent}`")
        if isinstance(error, ModelOutputError):
            error.hint = error.hint or expected.get(agent)


def how_it_ended(
    ended: str, detail: str, error: BaseException | None, raw: Mapping[str, Any]
) -> tuple[Outcome, str]:
    """A run's outcome and detail, from those of the engine and its state."""
    if isinstance(error, BudgetError) and is_limit(error):
        if error.code == _MODEL_CALLS:
            return "budget", "max_model_calls"
        return _limit(str(error.details.get("dimension", "")))
    if error is not None:
        return "error", f"{type(error).__name__}: {error}"
    if ended == "budget":
        return _limit(detail)
    return _completed(raw) if ended == "completed" else _stopped(ended, detail)


def _stopped(ended: str, detail: str) -> tuple[Outcome, str]:
    return ("paused", "") if ended == "paused" else ("cancelled", detail)


def _limit(dimension: str) -> tuple[Outcome, str]:
    return _ENDS.get(dimension, ("budget", dimension))


def _completed(raw: Mapping[str, Any]) -> tuple[Outcome, str]:
    if raw.get(RECORDED):
        return "error", "an agent failed"
    if raw.get(CUT):
        return "budget", "max_output_tokens"
    return ("answered", "") if delivered(raw) else ("no_answer", "no agent wrote an answer")
