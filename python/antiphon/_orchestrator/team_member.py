"""A team as a member of another team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.declaration import AgentDeclaration, TeamBase
from antiphon._orchestrator.model_request import CUT_REPLY
from antiphon._orchestrator.run_context import charged, engine_of, event_relay
from antiphon._orchestrator.updates import Unfinished
from antiphon._state_schema import fields_of_state
from antiphon.errors import BudgetError

if TYPE_CHECKING:
    from antiphon._orchestrator.run_context import RunContext
    from antiphon._orchestrator.state import State
    from antiphon.budget import Budget

_LIMITS = {"budget", "step_limit", "retry_limit"}


class TeamMember(AgentDeclaration):
    """A team that acts as an agent: its run is a part of the agent's node.

    It starts with the keys of the outer state that its own state has, but not with the answer. It
    writes its answer, its new messages, and the keys that it has changed.
    """

    def __init__(self, team: TeamBase) -> None:
        super().__init__(name=team.name, description=team.description)
        self.team = team
        self._outer: State | None = None

    def join(self, outer: State) -> None:
        """Tells it the state of the team that it joins."""
        self._outer = outer

    async def act(self, state: Any, ctx: RunContext[Any]) -> dict[str, Any] | Unfinished:
        """Runs the team."""
        first = self._first(state)
        engine = engine_of(ctx)
        show = event_relay(engine)
        part = self.team.run_part(first, ctx.budget, show, watched=engine.watched)
        result = await charged(engine, part)
        if result.reason == CUT_REPLY:
            return Unfinished(self._update(first, fields_of_state(result.state)))
        if result.outcome in _LIMITS:
            raise BudgetError(
                f"team `{self.name}` reached a limit: {result.reason}",
                code="budget_exhausted",
                details={"dimension": result.reason, "team": self.name},
                hint="raise the limit of that team",
            )
        if result.outcome == "cancelled":
            result.raise_for_outcome()
        return self._update(first, fields_of_state(result.state))

    def _first(self, state: Any) -> Any:
        """The input of the team: the state, or what the agent was sent."""
        if isinstance(state, str):
            return state
        keys = self.team.state_keys
        given = fields_of_state(state) if state is not None else {}
        return {
            key: value
            for key, value in given.items()
            if key != "answer" and value is not None and (keys is None or key in keys)
        }

    def _update(self, first: Any, last: dict[str, Any]) -> dict[str, Any]:
        before = {} if isinstance(first, str) else first
        said = last.get("messages") or []
        known = before.get("messages") or []
        update = {
            key: value
            for key, value in last.items()
            if self._takes(key) and not _same(value, before.get(key))
        }
        return {**update, "messages": [*_replaced(known, said), *list(said)[len(known) :]]}

    def _takes(self, key: str) -> bool:
        """Whether the outer state takes a whole value under a key."""
        outer = self._outer
        if outer is None or key in ("question", "messages") or key in outer.merged_keys:
            return False
        return outer.keys is None or key in outer.keys


def _replaced(before: list[Any], after: list[Any]) -> list[Any]:
    """The messages that took the place of those with their ids; others keep their places."""
    return [new for old, new in zip(before, after, strict=False) if not _same(new, old)]


def tightest(own: Budget | None, left: Budget | None) -> dict[str, Any]:
    """The limits of a run: its own, and what is left to the run that it is a part of."""
    limits = {} if own is None else own.limits()
    for name, value in ({} if left is None else left.limits()).items():
        limits[name] = min(limits.get(name, value), value)
    return limits


def _same(value: Any, before: Any) -> bool:
    if value is before:
        return True
    try:
        return bool(value == before)
    except Exception:  # noqa: BLE001 - frames, for one, refuse to be compared as a whole
        return False
