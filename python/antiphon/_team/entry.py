"""What a run is given, made ready for the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._encode import well_formed
from antiphon._team.messages import said
from antiphon._team.schema import fields_of, is_record
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from antiphon._team.schema import State
    from antiphon.result import Result


def entry(given: Any, state: State) -> dict[str, Any]:
    """The first writes of a run.

    Args:
        given: the question as text, or the initial state: a dict, or an instance of the
            team's state class.
        state: the team's state.

    Raises:
        ValidationError: the question is blank (``question_blank``), or the input is something
            else or does not fit the state (``input_invalid``).
    """
    if isinstance(given, str):
        _check_question(given)
        return state.begin({"question": given, "messages": [said("user", given)]})
    if not is_record(given):
        raise ValidationError(
            f"a run takes a question as text, or an initial state: {type(given).__name__}",
            code="input_invalid",
            hint='`team.run("...")`, or `team.run({"question": "..."})`',
        )
    fields = fields_of(given)
    if not fields:
        _check_question("")
    if "question" in fields:
        _check_question(fields["question"])
    try:
        return state.begin(fields)
    except StateError as error:
        raise ValidationError(error.message, code="input_invalid", hint=error.hint) from error


def answers_of(result: Result, given: Any) -> dict[str, Any]:
    """Answers by question id.

    Args:
        result: what paused.
        given: the answer to the one question, or a dict from question ids to answers.

    Raises:
        ValidationError: the result waits for nothing, or the answer does not say which of
            several questions it is for (``answer_invalid``).
    """
    if not hasattr(result, "questions"):
        raise ValidationError(
            f"what is resumed has to be the result of a run: {type(result).__name__}",
            code="answer_invalid",
        )
    if not result.questions:
        raise ValidationError(
            f"the run waits for no answer, its outcome is: {result.outcome}",
            code="answer_invalid",
        )
    ids = [question.id for question in result.questions]
    if isinstance(given, dict) and given and set(given) <= set(ids):
        return dict(given)
    if len(ids) == 1:
        return {ids[0]: given}
    raise ValidationError(
        f"the run waits for answers to several questions: {len(ids)}",
        code="answer_invalid",
        details={"questions": ids},
        hint="pass a dict from `question.id` to the answer",
    )


def _check_question(question: Any) -> None:
    if not isinstance(question, str):
        raise ValidationError(
            f"a question has to be text: {type(question).__name__}", code="input_invalid"
        )
    if not question.strip():
        raise ValidationError(
            f"the question is blank: {question!r}",
            code="question_blank",
            hint='ask something: `team.run("How many people live in Lyon?")`',
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"the question holds half a character, which no model can read: {question!r}",
            code="input_invalid",
            hint="decode its bytes as UTF-8",
        )
