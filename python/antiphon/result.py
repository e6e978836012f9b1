"""Results of runs, of teams and of ready systems."""

from __future__ import annotations

import dataclasses
import difflib
import json
import pickle
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from antiphon._html import escaped, plain, preview, table
from antiphon._state_schema import fields_of_state
from antiphon._text import snake_case
from antiphon._type_params import Generic, OutputT, StateT
from antiphon.errors import BudgetError, RunCancelled, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon._antiphon import Run
    from antiphon.event import Event
    from antiphon.trace import Trace

__all__ = ["Outcome", "Question", "Result", "RunResult", "Usage"]

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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunResult:
    """What every run returns, of a team or of a ready system.

    It displays itself in notebooks, and can be pickled.

    Attributes:
        outcome: ``answered``; ``no_answer``; ``paused``, see `questions`; ``step_limit``, it
            reached ``max_steps``; ``retry_limit``, too many attempts or rejections; ``budget``,
            another limit; ``error``; or ``cancelled``.
        reason: why there is no answer: the name of the limit that was reached, what the caller
            gave as the reason of the cancellation, or a sentence; ``None`` if there is nothing
            to say.
        state: the state at the end.
        questions: the open questions to a person.
        error: the exception that the run ended with; ``None`` without one.
        usage: what the run has spent.
        run_id: the run's id; a resumed run keeps it.
        thread: the thread that stores the run; ``None`` without one.
        checkpoint: the run's last checkpoint there.
        events_dropped: the number of events beyond the first 10,000, which are not kept.
    """

    outcome: Outcome
    reason: str | None = None
    state: Any
    questions: tuple[Question, ...] = ()
    error: BaseException | None = None
    usage: Usage
    run_id: str
    thread: str | None = None
    checkpoint: int | None = None
    events_dropped: int = 0
    _recorded: tuple[Event, ...] | Run = ()
    """The events, or the run that still holds them."""
    _paused: Any = None
    """The run itself, which an answer resumes if no thread stores it; a pickle leaves it out."""
    _CALLED: ClassVar[str]
    """What examples call the object that ran."""
    _IF_UNANSWERED: ClassVar[str]
    """What helps if the outcome is ``no_answer``."""

    @property
    def answer(self) -> Any:
        """The answer; ``None`` without one."""
        return fields_of_state(self.state).get("answer")

    @property
    def messages(self) -> list[Any]:
        """The state's ``messages``; empty without any."""
        return list(fields_of_state(self.state).get("messages") or ())

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in order, without pieces of replies."""
        if not isinstance(self._recorded, tuple):
            object.__setattr__(self, "_recorded", tuple(self._recorded.events))
        return cast("tuple[Event, ...]", self._recorded)

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The final failures, also those after which the run continued.

        Dicts of ``agent``, ``category``, ``code``, ``message`` and ``at``.
        """
        return [
            {"agent": event.agent, **event.data, "at": event.to_dict()["at"]}
            for event in self.events
            if event.kind == "error"
        ]

    @property
    def trace(self) -> Trace:
        """What models were asked and replied, and what tools returned, as a tree."""
        from antiphon.trace import Trace

        return Trace.of(self.events, self._name())

    def raise_for_outcome(self) -> Self:
        """The result itself, if the run ended with an answer.

        Raises:
            Exception: what the run failed with.
            BudgetError: it reached a limit (``run_limit_reached``).
            StateError: it ended without an answer (``run_unanswered``), waits for one
                (``run_paused``), or an agent failed and the run continued (``run_incomplete``).
            RunCancelled: it was cancelled (``run_cancelled``).
        """
        if self.outcome == "answered":
            return self
        if self.outcome in {"budget", "retry_limit", "step_limit"}:
            raise self._limit_error()
        if self.error is not None:
            raise self.error
        if self.outcome == "no_answer":
            raise StateError(
                f"the run ended without an answer: {self.reason}",
                code="run_unanswered",
                hint=self._IF_UNANSWERED,
            )
        if self.outcome == "paused":
            asked = self.questions[0].value if self.questions else ""
            raise StateError(
                f"the run is waiting for an answer to: {asked}",
                code="run_paused",
                hint=f"`{self._CALLED}.resume(result, answer)`",
            )
        if self.outcome == "cancelled":
            raise RunCancelled(f"the run was cancelled: {self.reason}", code="run_cancelled")
        failed = self.errors[0] if self.errors else {"agent": "", "message": self.reason}
        raise StateError(
            f"agent `{failed['agent']}` failed and the run continued: {failed['message']}",
            code="run_incomplete",
        )

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The fields as JSON values.

        A value that JSON lacks becomes the name of its type.

        Args:
            events: whether to include the events. Default: no, because they hold all that models
                and tools said.
        """
        fields = {
            "run_id": self.run_id,
            "thread": self.thread,
            "checkpoint": self.checkpoint,
            "outcome": self.outcome,
            "reason": self.reason,
            "answer": plain(self.answer),
            "state": {key: plain(value) for key, value in fields_of_state(self.state).items()},
            "questions": [
                {"id": one.id, "agent": one.agent, "value": plain(one.value)}
                for one in self.questions
            ],
            "errors": self.errors,
            "usage": dataclasses.asdict(self.usage),
            "events_dropped": self.events_dropped,
        }
        if events:
            fields["events"] = [event.to_dict() for event in self.events]
        return fields

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text.

        Args:
            indent: spaces per level. Default: all on one line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How pydantic writes a result: as `to_dict`. It checks one by its class."""
        from pydantic_core import core_schema

        written = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        return core_schema.is_instance_schema(
            cls,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls.to_dict, return_schema=written
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """A result in a JSON schema: what `to_dict` returns."""
        del schema, handler
        return {"title": cls.__name__, "type": "object"}

    if not TYPE_CHECKING:  # checkers report it themselves

        def __getattr__(self, name: str) -> Any:
            # Called only for names that are no attributes.
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(_no_attribute(name, _public(self)))

    def __getstate__(self) -> dict[str, Any]:
        kept = {**self.__dict__, "_paused": None, "_recorded": self.events}
        try:
            pickle.dumps(self.error)
        except Exception:  # noqa: BLE001 - a user's exception may refuse in any way; `errors` has it
            kept["error"] = None
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)

    def __repr__(self) -> str:
        answer = _bounded_repr(self.answer)
        return f"{type(self).__name__}(outcome={self.outcome!r}, answer={answer})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from antiphon._message_images import message_images
        from antiphon._result_view import ResultView

        view = ResultView(
            title=self._name().replace("_", " "),
            outcome=self.outcome,
            reason=self.reason,
            answer=self.answer,
            questions=[(one.id, one.agent, one.value) for one in self.questions],
            failures=self._failures(),
            resume=f"{self._CALLED}.resume",
        )
        elements = (*message_images(self.messages), *self._html_parts())
        trace = self.trace.to_html() if self.events else ""
        return {
            "text/plain": view.text(self._text_lines()),
            "text/html": view.html(iter(elements), self._usage_line(), trace),
        }

    def _name(self) -> str:
        """What ran."""
        return snake_case(type(self).__name__.removesuffix("Result"))

    def _failures(self) -> list[tuple[str, str]]:
        """Who failed, and how."""
        found = [(str(error["agent"]), str(error["message"])) for error in self.errors]
        message = str(getattr(self.error, "message", self.error))
        if self.error is not None and all(message not in shown for _, shown in found):
            found.append(("error", message))
        return found

    def _limit_error(self) -> BaseException:
        error = BudgetError(
            f"the run ended at a limit: {self._limit()}",
            code="run_limit_reached",
            details={"outcome": self.outcome, "dimension": self.reason},
            hint=self._limit_hint(),
        )
        error.__cause__ = self.error
        return error

    def _limit(self) -> str:
        """The limit that was reached, and where."""
        return self.reason or self.outcome

    def _limit_hint(self) -> str:
        """What may help."""
        return "raise the limit, or use `result.state`"

    def _text_lines(self) -> Iterator[str]:
        """Lines that the display as text has after the answer."""
        yield from ()

    def _html_parts(self) -> Iterator[str]:
        """Elements, escaped, that the display as HTML has after the answer."""
        yield from ()

    def _usage_line(self) -> str:
        usage = self.usage
        return (
            f"{usage.steps} steps, {usage.model_calls} model calls, {usage.tool_calls} tool "
            f"calls, {usage.input_tokens} + {usage.output_tokens} tokens, {usage.retries} retries"
        )


_NO_OUTPUT = {"question", "messages", "answer"}
"""Keys of the state that are not displayed in place of an answer."""
_SHOWN, _SHOWN_KEYS = 500, 20
"""Characters of a key's value, and keys, that are displayed in place of an answer."""
_LONGEST = 500
"""Characters of an answer in a ``repr``, which lists, debuggers and logs show of each result."""


def _bounded_repr(answer: Any) -> str:
    if isinstance(answer, str) and len(answer) > _LONGEST:
        return f"{answer[:_LONGEST]!r}… ({len(answer)} characters)"
    text = repr(answer)
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…"


_ATTACHED = "__antiphon_result__"


class _AttachedResult:
    """A result on an exception; a pickle of the exception leaves it out."""

    __slots__ = ("result",)

    def __init__(self, result: Result[Any, Any]) -> None:
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Result(RunResult, Generic[OutputT, StateT]):
    """The result of a run of a team, beside the fields of `RunResult`.

    In a notebook, keys of the state are attributes too: ``result.feedback`` is
    ``result.state["feedback"]``. Type checkers know `state`, by the team's state class.

    Attributes:
        outcome: as in `RunResult`; ``answered``: the run ended with an ``answer``, or without one
            after agents wrote other keys of the state; ``no_answer``: it ended, and no agent wrote
            anything but messages.
        state: the state at the end: a dict, or an instance of the team's state class.
        error: the exception of the run, if the team does not raise it.
        team: the team's name.
    """

    state: StateT
    team: str
    _CALLED = "team"

    _IF_UNANSWERED = 'return a text or `{"answer": ...}` from `act`, or `ctx.end(answer)`'

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _: Any) -> type[Self]:
            """The class itself, because pydantic reads the fields of a dataclass's alias."""
            return cls

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
        return cast("OutputT", super().answer)

    def to_dict(self, *, events: bool = False) -> dict[str, Any]:
        """The fields as JSON values, with the ``team``; see `RunResult.to_dict`."""
        return {"team": self.team, **super().to_dict(events=events)}

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

    def _name(self) -> str:
        return self.team

    def _text_lines(self) -> Iterator[str]:
        for key, value in self._written().items():
            yield f"{key}: {preview(value, _SHOWN)}"

    def _html_parts(self) -> Iterator[str]:
        yield table((key, escaped(value, _SHOWN)) for key, value in self._written().items())

    def _written(self) -> dict[str, Any]:
        """The keys that stand for an answer where there is none."""
        fields = fields_of_state(self.state)
        is_blank = self.answer is None or (isinstance(self.answer, str) and not self.answer)
        if not is_blank:
            return {}
        keys = (key for key in fields if key not in _NO_OUTPUT and fields[key] is not None)
        return {key: fields[key] for key in islice(keys, _SHOWN_KEYS)}

    def _limit(self) -> str:
        return f"{super()._limit()}{_loop(self)}"


def _public(result: RunResult) -> list[str]:
    return [name for name in object.__dir__(result) if not name.startswith("_")]


def _no_attribute(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1) or [_MEANT.get(name, "")]
    advice = f"did you mean `{near[0]}`?" if near[0] else f"it has {', '.join(sorted(known))}"
    return f"the result has neither a field nor a state key: {name}; {advice}"


_MEANT = {"output": "answer", "text": "answer", "content": "answer", "data": "answer"}
"""What others call it."""


def _loop(result: Result[Any, Any]) -> str:
    """The agents that ran more than once, if the steps of a run are used up."""
    if result.outcome != "step_limit":
        return ""
    starts = [event.agent for event in result.events if event.kind == "node_started"]
    again = {name: starts.count(name) for name in starts if starts.count(name) > 1}
    repeats = ", ".join(f"`{name}` ran {count} times" for name, count in again.items())
    return f" ({repeats})" if repeats else ""
