"""Questions of a run that a node has started: they are the node's, and pause its own run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._antiphon import check_enclosing_node

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
    questions = run.questions
    answered = False
    for key, _, _ in questions:
        answer = caller.relayed(key)
        if answer is not None:
            run.answer(key, answer[0])
            answered = True
    if not answered:
        key, _, value = questions[0]
        raise caller.pause(value, key)
    return True


def asks(error: BaseException) -> bool:
    """Whether an exception carries a question out of a node."""
    return hasattr(error, "__antiphon_question__")
