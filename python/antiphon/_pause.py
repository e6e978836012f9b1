"""How a node that waits for an answer leaves."""

from __future__ import annotations


class Interrupted(BaseException):
    """Carries a question out of a node; no error, and not to be caught.

    It is no ``Exception``, so that a broad handler in a node does not swallow it.

    Args:
        question: what is asked; any value.
    """

    def __init__(self, question: object) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = question


class Asked(Exception):
    """`Interrupted`, once it has left the node's own code.

    An event loop that brings what is no ``Exception`` from one task to another would be taken to
    stop the program.

    Args:
        question: what is asked; any value.
    """

    def __init__(self, question: object) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = question
