"""What a caller gives to a system, read before anything costs."""

from __future__ import annotations

import json
import re
from typing import Any

from antiphon._text import well_formed
from antiphon.errors import ValidationError

__all__ = ["read_answers", "read_question"]

_ID = re.compile("[0-9a-f]{32}")


def read_question(given: Any) -> Any:
    """A text, or a list of messages, that a model can read.

    Raises:
        ValidationError: it is neither (``question_malformed``).
    """
    if isinstance(given, str):
        if well_formed(given) == given:
            return given
        complaint, found = "contains an unpaired surrogate", repr(given)
    elif isinstance(given, list):
        try:
            json.dumps(given)
        except (RecursionError, TypeError, ValueError) as error:
            complaint, found = "holds what is no JSON", str(error)
        else:
            return given
    else:
        complaint, found = "must be a text, or a list of messages", type(given).__name__
    raise ValidationError(f"the question {complaint}: {found}", code="question_malformed")


def read_answers(answers: tuple[Any, ...]) -> dict[str, Any]:
    """Answers as the engine takes them: one to the only open question, or a dict by ids.

    Raises:
        ValidationError: there are several answers (``answer_invalid``).
    """
    if len(answers) > 1:
        raise ValidationError(
            f"several questions are open, and {len(answers)} answers without ids were given",
            code="answer_invalid",
            hint="`resume(thread, {id: answer, ...})` with the ids of `result.questions`",
        )
    if not answers:
        return {}
    (answer,) = answers
    if isinstance(answer, dict) and answer and all(map(_is_id, answer)):
        return {"answers": list(answer.items())}
    # In a tuple, because `None` is an answer too.
    return {"answer": (answer,)}


def _is_id(key: Any) -> bool:
    return isinstance(key, str) and _ID.fullmatch(key) is not None
