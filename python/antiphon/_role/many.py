"""Many questions to a system: looked at before any is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon import _event_loop
from antiphon._orchestrator.agent_spec import read_count
from antiphon._orchestrator.batch import Ended, abatch, batch
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from concurrent.futures import Future

    from antiphon._orchestrator.batch import Begun

__all__ = ["aask_all", "ask_all"]

_R = TypeVar("_R", bound=Ended)


def ask_all(
    answer: Callable[[str], Coroutine[Any, Any, _R]],
    questions: Iterable[str],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """The answers to several questions, in their order, with a progress bar.

    Args:
        answer: puts one.
        questions: what is asked.
        concurrency: how many are under way at a time.
        label: what the progress bar says.

    Raises:
        ValidationError: one is blank (``question_blank``); it is a text and no list
            (``input_invalid``); or `concurrency` is no number above 0 (``agent_invalid``).
    """

    def one(question: str, begun: Callable[[Begun], None]) -> _R:
        future = asyncio.run_coroutine_threadsafe(answer(question), _event_loop.running())
        begun(_Underway(future))
        return future.result()

    return batch(_checked(questions, concurrency), one, concurrency=concurrency, label=label)


async def aask_all(
    answer: Callable[[str], Coroutine[Any, Any, _R]],
    questions: Iterable[str],
    *,
    concurrency: int,
    label: str,
) -> list[_R]:
    """`ask_all` on the caller's event loop."""
    found = _checked(questions, concurrency)
    return await abatch(found, answer, concurrency=concurrency, label=label)


def _checked(questions: Iterable[str], concurrency: int) -> list[str]:
    read_count(concurrency, "concurrency", "a batch")
    if isinstance(questions, str | bytes):
        raise ValidationError(
            "a batch takes a list of questions, and was given a single text",
            code="input_invalid",
        )
    found = list(questions)
    for place, question in enumerate(found):
        if not isinstance(question, str):
            raise ValidationError(
                f"a question has to be text: {type(question).__name__}", code="input_invalid"
            )
        if not question.strip():
            raise ValidationError(
                f"question {place} of the batch is blank: {question!r}", code="question_blank"
            )
    return found


class _Underway:
    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    @property
    def outcome(self) -> str:
        return "over" if self._future.done() else "running"

    def cancel(self, reason: str) -> None:
        del reason
        self._future.cancel()
