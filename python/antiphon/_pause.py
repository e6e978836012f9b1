"""How a node that waits for an answer leaves."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from contextvars import Token
    from weakref import ReferenceType

    from antiphon._antiphon import Context, Effect

_CALLS: ContextVar[tuple[ReferenceType[Effect], ...]] = ContextVar("antiphon_calls", default=())
"""The calls of nodes that whatever runs here is part of; weak, as a task may outlive them."""

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


class CallScope:
    """A call tells its own questions from those beside it by what is asked within this.

    Args:
        effect: the call.
    """

    __slots__ = ("_effect", "_token")

    def __init__(self, effect: Effect) -> None:
        self._effect = ref(effect)
        self._token: Token[tuple[ReferenceType[Effect], ...]]

    def __enter__(self) -> None:
        self._token = _CALLS.set((*_CALLS.get(), self._effect))

    def __exit__(self, *_raised: object) -> None:
        # A node that is closed from outside ends among other variables.
        with suppress(ValueError):
            _CALLS.reset(self._token)


def asked(ctx: Context, question: object, asker: str | None) -> None:
    """Tells the calls around here that they ask.

    Args:
        ctx: of the node that is to pause.
        question: what is asked.
        asker: as that of `Interrupted`.
    """
    for reference in _CALLS.get():
        call = reference()
        if call is not None:
            call.asked(ctx, question, asker)


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
