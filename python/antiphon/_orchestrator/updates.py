"""Writes to a state: by a caller, from outside of runs, and by agents."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Send, TurnInput
from antiphon._content import is_content, read_parts, text_of
from antiphon._orchestrator.messages import is_message, said
from antiphon._orchestrator.seen_state import CONTAINERS
from antiphon._orchestrator.state import (
    CUT,
    HANDED,
    RECORDED,
    WROTE,
    fields_of,
    is_record,
    noted,
)
from antiphon._state_schema import fields_of_state
from antiphon._text import well_formed
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._orchestrator.state import State
    from antiphon.result import Question

_ID = re.compile(r"[0-9a-f]{32}")
"""The id of a question."""


def entry(given: Any, state: State) -> dict[str, Any]:
    """The first writes of a run: a question, or an initial state.

    Raises:
        ValidationError: the question is blank (``question_blank``), or the input is something
            else or does not fit the state (``input_invalid``).
    """
    return _first(_fields(given), state)


def turn(given: Any, state: State) -> TurnInput:
    """The writes of a run on a thread: the first ones if the thread is empty, or further ones.

    Raises:
        ValidationError: as `entry`, but for keys that a new thread lacks: whether it is new
            turns out when the run begins.
    """
    fields = _fields(given)
    # Each question has its own answer and errors.
    reset = [*state.reset_keys, RECORDED, HANDED, WROTE, CUT]
    return _turn(fields, state, lambda: state.turn(fields), reset)


def edit(given: Any, state: State, agent: str | None) -> TurnInput:
    """The writes of a caller to a thread, in the name of an agent; a text is an answer.

    Raises:
        ValidationError: it is neither, or does not fit the state (``input_invalid``).
    """
    if isinstance(given, str):
        given = spoken(given, agent) if agent else {"messages": given}
    if not is_record(given):
        raise ValidationError(
            "an update must be a string, a dict or an instance of the state class: "
            f"{type(given).__name__}",
            code="input_invalid",
            hint='`team.update(thread, {"feedback": "..."})`',
        )
    fields = fields_of(given)
    return _turn(fields, state, lambda: state.write(fields, agent), [])


def _turn(
    fields: dict[str, Any], state: State, write: Callable[[], dict[str, Any]], reset: list[str]
) -> TurnInput:
    """The writes to a thread: the first ones if it is empty, or those of `write`.

    Which ones count turns out when the run begins; what fits neither is an error at once.
    """
    first: dict[str, Any] | ValidationError
    further: dict[str, Any] | ValidationError
    try:
        further = write()
    except StateError as error:
        further = _invalid(error)
    try:
        first = _first(fields, state)
    except ValidationError as error:
        if isinstance(further, ValidationError):
            raise
        first = error
    return TurnInput(first, further, reset_keys=reset)


def _first(fields: dict[str, Any], state: State) -> dict[str, Any]:
    """The writes of a run that starts with these fields."""
    try:
        return state.begin(fields)
    except StateError as error:
        raise _invalid(error) from error


def _fields(given: Any) -> dict[str, Any]:
    """The input of a run, by key."""
    if isinstance(given, str):
        _check_question(given)
        return {"question": given, "messages": [said("user", given)]}
    if isinstance(given, list | tuple) or is_content(given):
        return _asked_in_parts(given)
    if not is_record(given):
        raise ValidationError(
            "the input of a run must be a string, a list of parts or an initial state: "
            f"{type(given).__name__}",
            code="input_invalid",
            hint='`team.run("...")`, or `team.run({"question": "..."})`',
        )
    fields = fields_of(given)
    if not fields:
        _check_question("")
    if "question" in fields:
        _check_question(fields["question"])
    return fields


def _asked_in_parts(given: Any) -> dict[str, Any]:
    """The input that a question with images, files or data is."""
    for part in given if isinstance(given, list | tuple) else ():
        if is_message(part):
            raise ValidationError(
                f"a question in parts has no messages among them: {part!r:.200}",
                code="input_invalid",
                hint='messages are a key of the state: `team.run({"messages": [...]})`',
            )
    try:
        parts = read_parts(given)
    except StateError as error:
        raise _invalid(error) from error
    if isinstance(parts, str):
        raise ValidationError(
            f"a question in parts has an image, a file or data among them: {given!r}",
            code="input_invalid",
            hint="for several questions use `batch([...])`",
        )
    texts = [part["text"] for part in parts if part["type"] == "text"]
    question = "\n".join(texts) or text_of(parts)
    _check_question(question)
    return {"question": question, "messages": [said("user", parts)]}


def _invalid(error: StateError) -> ValidationError:
    return ValidationError(error.message, code="input_invalid", hint=error.hint)


class Unanswered(Enum):
    """Stands for an answer that was not given; ``None`` is one."""

    UNANSWERED = "unanswered"

    def __repr__(self) -> str:
        return "unanswered"


UNANSWERED = Unanswered.UNANSWERED


_AFTER_END = (
    "to continue its conversation, ask another question in its thread: `run(question, thread=...)`"
)
_AFTER_FAILURE = (
    "if the run failed over its last answer, discard that and be asked again: "
    "`update(thread, {})`, then `resume(thread)`"
)


def answers_to(questions: Sequence[Question], given: Any, outcome: str | None) -> dict[str, Any]:
    """Answers by question id.

    Raises:
        ValidationError: nothing is asked, or the answer names a question that is not open, or
            none of several (``answer_invalid``).
    """
    if not questions:
        raise ValidationError(
            f"the run is not waiting for an answer; its outcome is: {outcome}",
            code="answer_invalid",
            hint=_AFTER_FAILURE if outcome == "error" else _AFTER_END,
        )
    ids = [question.id for question in questions]
    if isinstance(given, dict) and given and set(given) <= set(ids):
        return dict(given)
    unknown = _unknown_ids(ids, given)
    if unknown:
        raise ValidationError(
            f"the answer names a question that is not open: {unknown[0]}",
            code="answer_invalid",
            details={"unknown": unknown, "questions": ids},
            hint="pass a dict from the ids in `result.questions` of the last result to answers",
        )
    if len(ids) == 1:
        return {ids[0]: given}
    raise ValidationError(
        f"several questions are open, and the answer names none: {len(ids)}",
        code="answer_invalid",
        details={"questions": ids},
        hint="pass a dict from `question.id` to the answer",
    )


def _unknown_ids(ids: Sequence[str], given: Any) -> list[str]:
    """The keys of an answer by id that are no ids of open questions.

    A dict may also be the answer itself: it is one by id if a key is the id of an open question,
    or if all keys look like ids.
    """
    if not isinstance(given, dict) or not given:
        return []
    unknown = [str(key) for key in given if key not in ids]
    by_id = len(unknown) < len(given) or all(_ID.fullmatch(key) for key in unknown)
    return unknown if by_id else []


def _check_question(question: Any) -> None:
    if not isinstance(question, str):
        raise ValidationError(
            f"a question must be a string: {type(question).__name__}", code="input_invalid"
        )
    if not question.strip():
        raise ValidationError(
            f"the question is blank: {question!r}",
            code="question_blank",
            hint='ask something: `team.run("How many people live in Lyon?")`',
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"the question contains an unpaired surrogate: {question!r}",
            code="input_invalid",
            hint="decode its bytes as UTF-8",
        )


class Unfinished:
    """The update of an agent whose reply was cut off at its limit of tokens; it ends the run."""

    def __init__(self, update: dict[str, Any]) -> None:
        self.update = update


def spoken(text: str, agent: str) -> dict[str, Any]:
    """The update that a text is: the answer, and a message of the agent's."""
    return {"answer": text, "messages": [said("assistant", text, agent)]}


def returned(value: Any, state: State, agent: str, seen: tuple[Any, set[str]]) -> Any:
    """The return value of ``act``, as the engine takes it.

    Args:
        value: what it returned.
        state: the state of the team.
        agent: its name.
        seen: the state that it was given, and the keys that it has changed in it.

    Raises:
        StateError: it is none of these (``node_return_invalid``), or writes what the state
            does not take.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return state.write(spoken(value, agent), agent)
    if isinstance(value, Command | Unfinished):
        return _command(value, state, agent, seen)
    if isinstance(value, Send):
        return Command(goto=[value], only=True)
    if is_record(value):
        return noted(state.write(_fresh(value, seen, state), agent))
    if isinstance(value, list | tuple) and value and all(isinstance(one, Send) for one in value):
        return Command(goto=list(value), only=True)
    if inspect.iscoroutine(value):
        value.close()
        raise StateError(
            f"agent `{agent}` returned a coroutine that nobody awaited: {value.__qualname__}",
            code="node_return_invalid",
            hint="write `async def act` and await the call, as in `await ctx.amodel(...)`",
        )
    raise StateError(
        f"agent `{agent}` returned a value that is not an update: {type(value).__name__}",
        code="node_return_invalid",
        hint="return a dict, a string, nothing, or the result of `ctx.goto(...)`",
    )


def _fresh(update: Any, seen: tuple[Any, set[str]], state: State) -> Any:
    """An update without the values that the agent was given: returning the state writes none."""
    shown, changed = seen
    if not is_record(update) or not is_record(shown):
        return update
    given = fields_of_state(shown)
    fields = fields_of(update)
    is_whole = update is shown or _is_whole(fields, given)
    if "messages" not in state.merged_keys:
        fields = _without_known(fields, given)
    return {
        key: value
        for key, value in fields.items()
        if key == "messages"
        or key in changed
        or given.get(key, UNANSWERED) is not value
        # Alone, a number may be given again to be added again; small ones are the same object.
        or not (is_whole or type(value) in CONTAINERS)
    }


def _is_whole(fields: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether an update is the state with changes, such as `{**state, "n": 1}`."""
    return fields.keys() >= given.keys() and fields.get("question") is given.get("question")


def _without_known(fields: dict[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """An update without the messages that the agent was given."""
    known, given = shown.get("messages"), fields.get("messages")
    if not known or not isinstance(given, list):
        return fields
    ids = {id(message) for message in known}
    rest = [message for message in given if id(message) not in ids]
    if len(rest) == len(given) and "question" in fields and given[: len(known)] == known:
        rest = given[len(known) :]  # those of a copy of the whole state
    rest = [message for message in rest if not _is_repeated(message, known)]
    del fields["messages"]
    return {**fields, "messages": rest} if rest else fields


def _is_repeated(message: Any, known: Sequence[Any]) -> bool:
    """Whether a message with an id is a copy of a known one."""
    has_id = isinstance(message, dict) and message.get("id") is not None
    return has_id and message in known


def _command(
    value: Command | Unfinished, state: State, agent: str, seen: tuple[Any, set[str]]
) -> Command:
    if isinstance(value, Unfinished):
        written = noted(state.write(value.update, agent))
        return Command(update={**written, CUT: True}, end=True)
    update = value.update
    if update is not None:
        update = noted(state.write(_fresh(update, seen, state), agent))
    # In a team, going somewhere always replaces the way that was laid out.
    only = value.only or bool(value.goto)
    return Command(graph=value.graph, update=update, goto=value.goto, only=only, end=value.end)
