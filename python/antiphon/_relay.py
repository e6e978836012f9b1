"""Questions of a run that a node has started: they are the node's, and pause its own run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._antiphon import check_enclosing_node
from antiphon._pause import Interrupted

if TYPE_CHECKING:
    from antiphon._antiphon import Run

__all__ = ["asks", "relay_questions"]


def relay_questions(run: Run) -> bool:
    """Passes the questions of a paused run on to the node that started it.

    A run that is kept in a thread of its own keeps its questions.

    Args:
        run: a run that has come to rest.

    Returns:
        Whether they were answered: the run can be driven on.

    Raises:
        Interrupted: a question has no answer yet; it leaves the node, and pauses its run.
        StateError: the node has ended (``node_ended``).
    """
    if run.thread is not None or run.outcome != "paused":
        return False
    caller = run.caller
    if caller is None:
        # A task that has outlived its node may have started it: nobody would answer.
        check_enclosing_node()
        return False
    unanswered: Interrupted | None = None
    answered = False
    for key, _, value in run.questions:
        try:
            run.answer(key, caller.relay(key, value))
            answered = True
        except Interrupted as pause:
            unanswered = unanswered or pause
    if unanswered is not None and not answered:
        raise unanswered
    return True


def asks(error: BaseException) -> bool:
    """Whether an exception carries a question out of a node."""
    return hasattr(error, "__antiphon_question__")
