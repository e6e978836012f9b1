"""Results of runs."""

from __future__ import annotations

import dataclasses
import difflib
import json
import pickle
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from antiphon._html import BOX, SMALL, colour_of, escaped, plain, preview
from antiphon._state_schema import fields_of_state
from antiphon._type_params import Generic, OutputT, StateT
from antiphon.errors import BudgetError, RunCancelled, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon._antiphon import Run
    from antiphon.event import Event
    from antiphon.trace import Trace

__all__ = ["Outcome", "Question", "Result", "Usage"]

Outcome = Literal[
    "answered",
    "no_answer",
    "paused",
    "step_limit",
    "retry_limit",
    "budget",
    "error",
    "cancelled",
]
"""How a run ended."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of an agent to a person.

    Attributes:
        id: names it in an answer.
        agent: who asks.
        value: the question.
    """

    id: str
    agent: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run has spent.

    Attributes:
        steps: supersteps; agents that run in parallel share one.
        model_calls: calls of models.
        tool_calls: calls of tools.
        input_tokens: tokens that models read.
        output_tokens: tokens that models wrote.
        retries: attempts beyond the first.
    """

    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0


_ATTACHED = "__antiphon_result__"


class _AttachedResult:
    """A result on an exception; a pickle of the exception leaves it out."""

    __slots__ = ("result",)

    def __init__(self, result: Result[Any, Any]) -> None:
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class Result(Generic[OutputT, StateT]):
    """The result of a run; displays itself in notebooks, and can be pickled.

    In a notebook, keys of the state are attributes too: ``result.feedback`` is
    ``result.state["feedback"]``. Type checkers know `state`, by the team's state class.

    Attributes:
        answer: the state's ``answer``; ``None`` without one.
        state: the state at the end: a dict, or an instance of the team's state class.
        outcome: ``answered``: the run ended with an ``answer``, or without one after agents wrote
            other keys of the state; ``no_answer``: it ended, and no agent wrote anything but
            messages; ``paused``, see `questions`; ``step_limit``, it reached ``max_steps``;
            ``retry_limit``, its budget of retries; ``budget``, another limit; ``error``; or
            ``cancelled``.
        detail: the limit that was reached, or the reason of the cancellation.
        questions: the open questions.
        error: the exception of the run, if the team does not raise it.
        errors: final failures, also those after which the team continued: dicts of ``agent``,
            ``category``, ``code``, ``message`` and ``at``.
        usage: what it has spent.
        run_id: the run's id.
        thread: the thread that stores it; ``None`` without one.
        checkpoint: its last checkpoint there.
        team: the team's name.
        events_dropped: how many events beyond 10,000 were not kept.
    """

    def __init__(
        self,
        run: Run,
        *,
        state: StateT,
        outcome: Outcome,
        detail: str,
        usage: Usage,
        team: str,
        error: BaseException | None = None,
    ) -> None:
        self._run: Run | None = run
        self._events: tuple[Event, ...] | None = None
        self.state = state
        self.outcome: Outcome = outcome
        self.detail = detail
        self.usage = usage
        self.team = team
        self.error = error
        self.run_id: str = run.run_id
        self.thread: str | None = run.thread
        self.checkpoint: int | None = run.checkpoint
        self.events_dropped: int = run.events_dropped
        self.questions = tuple(Question(key, path[-1], value) for key, path, value in run.questions)

    @classmethod
    def of(cls, error: BaseException) -> Result[Any, Any] | None:
        """The partial result of the run that raised an exception: events, state and usage.

        Args:
            error: what `Orchestrator.run` or a similar method raised.

        Returns:
            The result, with the outcome ``error``; ``None`` if no run raised the exception, or
            if it was unpickled.

        Example:
            >>> from antiphon import Agent, Orchestrator, Result
            >>> class Fails(Agent):
            ...     def act(self, state, ctx):
            ...         raise LookupError("no such city")
            >>> try:
            ...     Orchestrator([Fails()]).run("How many people live in Atlantis?")
            ... except LookupError as error:
            ...     print([event.kind for event in Result.of(error).events][-2:])
            ['error', 'run_finished']
        """
        kept = error.__dict__.get(_ATTACHED)
        return kept.result if isinstance(kept, _AttachedResult) else None

    def _keep_with(self, error: BaseException) -> None:
        error.__dict__[_ATTACHED] = _AttachedResult(self)

    @property
    def answer(self) -> OutputT:
        """The state's ``answer``; ``None`` without one."""
        return cast("OutputT", fields_of_state(self.state).get("answer"))

    @property
    def messages(self) -> list[Any]:
        """The state's ``messages``; empty without any."""
        return list(fields_of_state(self.state).get("messages") or ())

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in order."""
        if self._events is None:
            assert self._run is not None  # noqa: S101 - pickling keeps one of the two
            self._events = tuple(self._run.events)
        return self._events

    @property
    def trace(self) -> Trace:
        """What models were asked and replied, and what tools returned, as a tree."""
        from antiphon.trace import Trace

        return Trace.of(self.events, self.team)

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The final failures."""
        return [
            {"agent": event.agent, **event.data, "at": event.to_dict()["at"]}
            for event in self.events
            if event.kind == "error"
        ]

    def raise_for_outcome(self) -> Self:
        """The result itself, if the run ended with an answer.

        Raises:
            Exception: what the run failed with.
            BudgetError: it reached a limit (``run_limit_reached``).
            StateError: it ended without an answer (``run_unanswered``), waits for one
                (``run_paused``), or an agent failed and the team continued (``run_incomplete``).
            RunCancelled: it was cancelled (``run_cancelled``).
        """
        if self.outcome == "answered":
            return self
        if self.error is not None:
            raise self.error
        if self.outcome in {"budget", "retry_limit", "step_limit"}:
            raise BudgetError(
                f"the run ended at a limit: {self.detail}{_loop(self)}",
                code="run_limit_reached",
                details={"dimension": self.detail},
                hint="raise the limit, or use `result.state`",
            )
        if self.outcome == "no_answer":
            raise StateError(
                f"the run ended without an answer: {self.detail}",
                code="run_unanswered",
                hint='return a text or `{"answer": ...}` from `act`, or `ctx.end(answer)`',
            )
        if self.outcome == "paused":
            raise StateError(
                f"the run is waiting for an answer to: {self.questions[0].value}",
                code="run_paused",
                hint="`team.resume(result, answer)`",
            )
        if self.outcome == "cancelled":
            raise RunCancelled(f"the run was cancelled: {self.detail}", code="run_cancelled")
        failed = self.errors[0] if self.errors else {"agent": "", "message": self.detail}
        raise StateError(
            f"agent `{failed['agent']}` failed and the team continued: {failed['message']}",
            code="run_incomplete",
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, without the events.

        A value that JSON lacks becomes the name of its type.
        """
        return {
            "run_id": self.run_id,
            "thread": self.thread,
            "checkpoint": self.checkpoint,
            "team": self.team,
            "outcome": self.outcome,
            "detail": self.detail,
            "answer": plain(self.answer),
            "state": {key: plain(value) for key, value in fields_of_state(self.state).items()},
            "questions": [
                {"id": one.id, "agent": one.agent, "value": plain(one.value)}
                for one in self.questions
            ],
            "errors": self.errors,
            "usage": dataclasses.asdict(self.usage),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: all on one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    if not TYPE_CHECKING:  # checkers read `state`, and report the rest

        def __getattr__(self, name: str) -> Any:
            # Called only for names that are no attributes.
            if name.startswith("_") or "state" not in self.__dict__:
                raise AttributeError(name)
            fields = fields_of_state(self.state)
            if name in fields:
                return fields[name]
            raise AttributeError(_no_attribute(name, [*_public(self), *fields]))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, fields_of_state(self.state))})

    def __getstate__(self) -> dict[str, Any]:
        kept = {**self.__dict__, "_run": None, "_events": self.events}
        try:
            pickle.dumps(self.error)
        except Exception:  # noqa: BLE001 - a user's exception may refuse in any way; `errors` has it
            kept["error"] = None
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)

    def __repr__(self) -> str:
        return f"Result(outcome={self.outcome!r}, answer={self.answer!r})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": _text(self), "text/html": _html(self)}


def _public(result: Result[Any, Any]) -> list[str]:
    return [name for name in object.__dir__(result) if not name.startswith("_")]


def _no_attribute(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1) or [_MEANT.get(name, "")]
    advice = f"did you mean `{near[0]}`?" if near[0] else f"it has {', '.join(sorted(known))}"
    return f"the result has neither a field nor a state key: {name}; {advice}"


_MEANT = {"output": "answer", "content": "answer", "data": "answer"}
"""What others call it."""


def _loop(result: Result[Any, Any]) -> str:
    """The agents that ran more than once, if the steps of a run are used up."""
    if result.outcome != "step_limit":
        return ""
    starts = [event.agent for event in result.events if event.kind == "node_started"]
    again = {name: starts.count(name) for name in starts if starts.count(name) > 1}
    repeats = ", ".join(f"`{name}` ran {count} times" for name, count in again.items())
    return f" ({repeats})" if repeats else ""


def _text(result: Result[Any, Any]) -> str:
    """The result in a few lines."""
    lines = [f"{result.team}: {result.outcome}{_detail(result)}"]
    if result.answer is not None:
        lines.append(preview(result.answer))
    lines += [f"? {question.agent}: {preview(question.value)}" for question in result.questions]
    lines += [f"! {error['agent']}: {error['message']}" for error in result.errors]
    return "\n".join(lines)


def _html(result: Result[Any, Any]) -> str:
    """The result as one self-contained element, escaped."""
    colour = colour_of(result.outcome)
    heading = f"{result.outcome}{escape(_detail(result))}"
    parts = [
        f'<div style="{BOX}">',
        f'<div><b>{escape(result.team)}</b> <span style="color:{colour}">{heading}</span></div>',
        *_answer(result),
        *_asked(result),
        *_failed(result),
        _usage(result),
        *_traced(result),
        "</div>",
    ]
    return "".join(parts)


def _answer(result: Result[Any, Any]) -> Iterator[str]:
    if result.answer is not None:
        yield f'<div style="white-space:pre-wrap;margin:8px 0">{escaped(result.answer)}</div>'


def _asked(result: Result[Any, Any]) -> Iterator[str]:
    for question in result.questions:
        yield f"<div><b>{escape(question.agent)} asks:</b> {escaped(question.value)}</div>"


def _failed(result: Result[Any, Any]) -> Iterator[str]:
    for error in result.errors:
        yield (
            f'<div style="color:#cf222e"><b>{escape(error["agent"])}</b> '
            f"{escaped(error['message'])}</div>"
        )


def _usage(result: Result[Any, Any]) -> str:
    usage = result.usage
    text = (
        f"{usage.steps} steps, {usage.model_calls} model calls, {usage.tool_calls} tool calls, "
        f"{usage.input_tokens} + {usage.output_tokens} tokens, {usage.retries} retries"
    )
    return f'<div style="{SMALL}">{text}</div>'


def _traced(result: Result[Any, Any]) -> Iterator[str]:
    """The trace, folded."""
    if result.events:
        yield '<details><summary style="font-size:12px">trace</summary>'
        yield result.trace.to_html()
        yield "</details>"


def _detail(result: Result[Any, Any]) -> str:
    return f" ({result.detail})" if result.detail else ""
