"""Several questions to a system, all validated before the first is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon._orchestrator.batch import HasOutcome, gather_results
from antiphon._orchestrator.options import read_count
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

_R = TypeVar("_R", bound=HasOutcome)


async def ask_all(
    answer: Callable[..., Coroutine[Any, Any, _R]],
    questions: Iterable[str],
    data: Sequence[Any] | None = None,
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """The answers to several questions, in their order, with a progress bar called `label`.

    `answer` is called with a question, and with its item of `data` if there are any.

    Raises:
        ValidationError: a question is blank (``question_blank``) or no text, there is a single
            text instead of a list (``input_invalid``), or `concurrency` is no number above 0
            (``agent_invalid``).
    """
    found = check_questions(questions, concurrency)
    given = (
        [(question,) for question in found] if data is None else list(zip(found, data, strict=True))
    )

    async def one(arguments: tuple[Any, ...]) -> _R:
        return await answer(*arguments)

    return await gather_results(one, given, concurrency=concurrency, label=label)


def check_questions(questions: Iterable[str], concurrency: int) -> list[str]:
    """The questions of a batch.

    Raises:
        ValidationError: as `ask_all`.
    """
    read_count(concurrency, "concurrency", "a batch")
    if isinstance(questions, str | bytes) or not isinstance(questions, Iterable):
        is_text = isinstance(questions, str | bytes)
        raise ValidationError(
            f"a batch takes a list of questions, found: "
            f"{'a string' if is_text else type(questions).__name__}",
            code="input_invalid",
        )
    found = list(questions)
    for place, question in enumerate(found):
        if not isinstance(question, str):
            raise ValidationError(
                f"a question must be a string: {type(question).__name__}", code="input_invalid"
            )
        if not question.strip():
            raise ValidationError(
                f"question {place} of the batch is blank: {question!r}", code="question_blank"
            )
    return found
