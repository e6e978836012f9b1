"""What a caller gives to a system, read before anything costs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon._text import well_formed
from antiphon.errors import AntiphonError, ValidationError
from antiphon.tools import encode_result

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["plain_fact", "read_answers", "read_question"]

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


def plain_fact(argument: str, name: Any, value: Any) -> Any:
    """A fact for models as a JSON value.

    Args:
        argument: what the caller calls the facts.
        name: the fact.
        value: what it is.

    Raises:
        ValidationError: it is no JSON value (``input_invalid``). Bytes are none, at any depth: in
            base64 no model reads them.
    """
    try:
        found = _bytes_in(value)
        plain = encode_result(value)
        json.dumps(plain)
    except (RecursionError, TypeError, ValueError, AntiphonError) as error:
        raise _no_fact(argument, name, value) from error
    if found is not None:
        raise _no_fact(argument, name, found)
    return plain


def _no_fact(argument: str, name: Any, value: Any) -> ValidationError:
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    return ValidationError(
        f"`{argument}` must hold JSON values, and `{name}` is none: {type(value).__name__}",
        code="input_invalid",
        hint="decode it, as in `value.decode()`"
        if is_bytes
        else "pass text, numbers, lists or dicts of them",
    )


def _bytes_in(value: Any) -> Any:
    """The first bytes that a value is or holds; none if there are none."""
    if isinstance(value, bytes | bytearray | memoryview):
        return value
    if isinstance(value, Mapping):
        parts: Iterable[Any] = (part for item in value.items() for part in item)
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    else:
        return None
    return next((found for part in parts if (found := _bytes_in(part)) is not None), None)


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
