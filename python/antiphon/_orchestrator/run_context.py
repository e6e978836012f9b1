"""What functions of an agent can learn about the run."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._type_params import ContextT, Generic
from antiphon.budget import Budget
from antiphon.result import Result, RunResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from antiphon._antiphon import Context, Event
    from antiphon._orchestrator.agent_spec import Spec
    from antiphon.result import Usage

_R = TypeVar("_R", bound=RunResult)


class RunContext(Generic[ContextT]):
    """The run and the agent, as a function given as `instructions` sees them."""

    __slots__ = ("_ctx", "_errors", "_spec")

    def __init__(self, ctx: Context, spec: Spec, errors: Sequence[Mapping[str, Any]]) -> None:
        self._ctx = ctx
        self._spec = spec
        self._errors = errors

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._ctx.run_id

    @property
    def thread(self) -> str | None:
        """The thread that stores the run; ``None`` without one."""
        thread: str | None = self._ctx.run.thread
        return thread

    @property
    def context(self) -> ContextT:
        """What the caller passed as ``context=`` where the run started or resumed.

        ``None`` if nothing. It is never stored.
        """
        context: ContextT = self._ctx.context  # type: ignore[assignment]
        return context

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._spec.name

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return self._ctx.attempt

    @property
    def deadline(self) -> datetime | None:
        """When the attempt times out, in UTC; ``None`` without a time-out."""
        at = self._ctx.deadline
        return None if at is None else datetime.fromtimestamp(at, UTC)

    @property
    def budget(self) -> Budget:
        """The remaining counts of the team's budget."""
        budget: Budget | None = self._ctx.config
        return Budget() if budget is None else budget.left(self._ctx.run.spent)

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The errors so far that were recorded, or handed to a fallback agent."""
        return [dict(error) for error in self._errors]

    @property
    def logger(self) -> logging.Logger:
        """The logger ``antiphon.agent.NAME``."""
        return logging.getLogger(f"antiphon.agent.{self.agent}")

    def emit(self, payload: Any, name: str | None = None) -> None:
        """Emits an event of kind ``custom``.

        Args:
            payload: the event's ``data``; a non-dict payload is wrapped as ``{"value": payload}``.
            name: the event's name. Default: ``custom``.
        """
        self._ctx.emit(payload, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(agent={self.agent!r}, attempt={self.attempt})"


def engine_of(ctx: RunContext[Any]) -> Context:
    """The run as the engine's, for code of antiphon."""
    return ctx._ctx  # noqa: SLF001 - agents have no use for it


def event_relay(engine: Context) -> Callable[[Event], object]:
    """A function that adds the events of a run within a node or a role to the run around it."""

    def relay(event: Event) -> None:
        if event.kind != "dropped":
            engine.relay(event)

    return relay


async def charged(engine: Context, part: Awaitable[_R]) -> _R:
    """The result of a run within a node or a role; what it has spent counts, also if it fails.

    Raises:
        BudgetError: it is more than was left (``budget_exhausted``).
    """
    try:
        result = await part
    except Exception as error:
        spent = Result.of(error)
        if spent is not None:
            _count_usage(engine, spent.usage)
        raise
    _count_usage(engine, result.usage)
    return result


def _count_usage(engine: Context, usage: Usage) -> None:
    # Tokens come last: those of a run's last call may exceed the limit, as those of any call.
    for kind, count in (("model", usage.model_calls), ("tool", usage.tool_calls)):
        for _ in range(count):
            engine.request(kind)
    engine.charge(usage.input_tokens, usage.output_tokens)
