"""How the end of a run becomes a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import isolated
from antiphon._orchestrator.model_request import CUT_REPLY
from antiphon._orchestrator.state import CUT, RECORDED, delivered
from antiphon.errors import AntiphonError, ModelOutputError
from antiphon.result import Outcome, Question, Result, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Run
    from antiphon._orchestrator.state import State


_ENDS: dict[str, tuple[Outcome, str]] = {
    "supersteps": ("step_limit", "max_steps"),
    "max_steps": ("step_limit", "max_steps"),
    "retries": ("retry_limit", "retries"),
}
"""The outcomes and reasons of limits that are no budget."""
_CALLS = {"model_calls_exhausted": "max_model_calls", "tool_calls_exhausted": "max_tool_calls"}
"""The limits of an agent by the code of their error."""
_NOTE = "raised by the node "
_LIMITS = {"budget_exhausted", *_CALLS}
"""Not a provider's: that the account is empty is a failure."""


def finish(run: Run, error: BaseException | None, state: State, team: str) -> Result[Any, Any]:
    """The result of a run that ended, paused, or failed with `error`."""
    raw = run.values
    outcome, reason = how_it_ended(run.outcome, run.reason, error, raw)
    return Result(
        outcome=outcome,
        reason=reason or None,
        state=state.show(isolated(raw)) if run.started else {},
        questions=tuple(Question(key, path[-1], value) for key, path, value in run.questions),
        error=error if outcome == "error" else None,
        usage=Usage(**{**run.spent, "steps": run.steps}),
        run_id=run.run_id,
        thread=run.thread,
        checkpoint=run.checkpoint,
        events_dropped=run.events_dropped,
        team=team,
        _recorded=run,
        _paused=run,
    )


def is_limit(error: BaseException | None) -> bool:
    """Whether a failure only says that a limit of the team or of an agent is reached."""
    return isinstance(error, AntiphonError) and error.code in _LIMITS


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
    ended: str, reason: str, error: BaseException | None, raw: Mapping[str, Any]
) -> tuple[Outcome, str]:
    """A run's outcome and its reason, from those of the engine and its state."""
    if isinstance(error, AntiphonError) and is_limit(error):
        dimension = error.details.get("dimension") or _CALLS.get(error.code, "")
        return _limit(str(dimension))
    if error is not None:
        return "error", f"{type(error).__name__}: {error}"
    if ended == "budget":
        return _limit(reason)
    return _completed(raw) if ended == "completed" else _stopped(ended, reason)


def _stopped(ended: str, reason: str) -> tuple[Outcome, str]:
    return ("paused", "") if ended == "paused" else ("cancelled", reason)


def _limit(dimension: str) -> tuple[Outcome, str]:
    return _ENDS.get(dimension, ("budget", dimension))


def _completed(raw: Mapping[str, Any]) -> tuple[Outcome, str]:
    if raw.get(RECORDED):
        return "error", "an agent failed"
    if raw.get(CUT):
        return "budget", CUT_REPLY
    return ("answered", "") if delivered(raw) else ("no_answer", "no agent wrote an answer")
