"""A run that waits for answers, as the dict that ``invoke`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphBuildError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.graph._flight import Flight
    from antiphon.graph._output import GraphOutput
    from antiphon.graph._runtime import Interrupt

__all__ = ["Paused", "by_id"]


class Paused(dict[str, Any]):
    """The state at a pause, with the open questions under ``__interrupt__``.

    It holds the run itself: hand it to `CompiledGraph.resume` with the answers, in the same
    process. Pickled or copied it is a plain dict.
    """

    __slots__ = ("_flight",)

    def __init__(self, state: Mapping[str, Any], flight: Flight) -> None:
        super().__init__(state, __interrupt__=list(flight.questions()))
        self._flight = flight

    @property
    def flight(self) -> Flight:
        """The run that waits."""
        return self._flight

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        """The open questions."""
        return tuple(self["__interrupt__"])

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def by_id(paused: Paused | GraphOutput, answer: Any) -> tuple[Flight, dict[str, Any]]:
    """Says which question an answer is for.

    Args:
        paused: the pause.
        answer: a dict from question ids to answers, or the answer to the only question.

    Returns:
        The run that waits, and a dict from question ids to answers.

    Raises:
        GraphBuildError: several questions are open and the answer names none, or the
            pause is over, or never was one.
    """
    if not hasattr(paused, "flight"):
        raise GraphBuildError(
            f"`resume` takes what `invoke` returned at a pause, found: {type(paused).__name__}",
            code="answer_invalid",
            hint="to answer by thread, call `invoke(Command(resume=answer), config)`",
        )
    flight = paused.flight
    if flight is None:
        raise GraphBuildError("the run does not wait for an answer", code="answer_invalid")
    open_ = [question.id for question in flight.questions()]
    asked = [question.id for question in paused.interrupts]
    if open_ != asked:
        raise GraphBuildError(
            f"the run has been resumed from this pause already: {', '.join(asked)}",
            code="answer_invalid",
            hint="resume from what the last `resume` returned",
        )
    if isinstance(answer, dict) and answer and set(answer) <= set(open_):
        return flight, answer
    if len(open_) > 1:
        raise GraphBuildError(
            f"several questions are open, and the answer names none: {len(open_)}",
            code="answer_invalid",
            details={"questions": open_},
            hint="answer with a dict from the ids of the questions to the answers",
        )
    return flight, {open_[0]: answer}
