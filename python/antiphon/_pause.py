"""How a node that waits for an answer leaves."""

from __future__ import annotations

from typing import TypeVar

_Pause = TypeVar("_Pause", bound=BaseException)


class Interrupted(BaseException):
    """Carries a question out of a node; no error, and not to be caught.

    It is no ``Exception``, so that a broad handler in a node does not swallow it.

    Args:
        question: what is asked; any value.
        asker: the question's id, if a run that the node has started asks it. Default: none.
    """

    def __init__(self, question: object, asker: str | None = None) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = question
        self.__antiphon_asker__ = asker


class Asked(Exception):
    """`Interrupted`, once it has left the node's own code.

    An event loop that brings what is no ``Exception`` from one task to another would be taken to
    stop the program.

    Args:
        pause: what has left the code.
    """

    def __init__(self, pause: Interrupted) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = pause.__antiphon_question__
        self.__antiphon_asker__ = pause.__antiphon_asker__


def pause_in(left: BaseException, kind: type[_Pause]) -> _Pause | None:
    """The pause that leaves a node, also if a group of tasks has brought it and nothing else.

    Args:
        left: what the node has raised.
        kind: what carries a question there.
    """
    while isinstance(left, BaseExceptionGroup):
        if left.split(kind)[1] is not None:
            return None
        left = left.exceptions[0]
    return left if isinstance(left, kind) else None


def question_in(left: BaseException) -> BaseException | None:
    """The pause in a group of exceptions that holds nothing else.

    Args:
        left: what the node has raised.
    """
    while isinstance(left, BaseExceptionGroup):
        if left.split(lambda error: hasattr(error, "__antiphon_question__"))[1] is not None:
            return None
        left = left.exceptions[0]
    return left
