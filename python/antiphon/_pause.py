"""How a node that waits for an answer leaves, and how the run around it gets the question."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

from antiphon._antiphon import check_enclosing_node

if TYPE_CHECKING:
    from contextvars import Token

    from antiphon._antiphon import Context, Effect, Run

_SCOPES: ContextVar[tuple[CallScope, ...]] = ContextVar("antiphon_calls", default=())
"""The calls of nodes that the current code is part of."""

_Pause = TypeVar("_Pause", bound=BaseException)


class Interrupted(BaseException):
    """Carries a question out of a node; no error, and not to be caught.

    It is no ``Exception``, so that a broad handler in a node does not swallow it. `question_id` is
    that of a question that a nested run asks.
    """

    def __init__(self, question: object, question_id: str | None = None) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = question
        self.__antiphon_question_id__ = question_id


class NodeInterrupted(Exception):
    """`Interrupted`, after it has left the code of the node.

    An event loop takes other exceptions than ``Exception`` in a task for a stop of the program.
    """

    def __init__(self, pause: Interrupted) -> None:
        super().__init__("the run pauses for an answer")
        self.__antiphon_question__ = pause.__antiphon_question__
        self.__antiphon_question_id__ = pause.__antiphon_question_id__


class CallScope:
    """Distinguishes the questions and calls within a call of a node from those beside it.

    It holds the call weakly: a task may outlive the node with its variables.
    """

    __slots__ = ("_effect", "_numbers", "_token", "key")

    def __init__(self, effect: Effect) -> None:
        self.key = effect.key
        self._effect = ref(effect)
        self._numbers = count()
        self._token: Token[tuple[CallScope, ...]]

    def __enter__(self) -> None:
        self._token = _SCOPES.set((*_SCOPES.get(), self))

    def __exit__(self, *_raised: object) -> None:
        # A node that is closed from outside ends among other variables.
        with suppress(ValueError):
            _SCOPES.reset(self._token)

    def is_of(self, ctx: Context) -> bool:
        """Whether the call belongs to that node and has not ended."""
        effect = self._effect()
        return effect is not None and effect.is_of(ctx)

    def keep(self, question: object, question_id: str | None) -> None:
        """Keeps what is asked within the call."""
        effect = self._effect()
        if effect is not None:
            effect.keep_question(question, question_id)

    def next_id(self) -> str:
        """The id of the next question that is asked within the call."""
        return f"{self.key}-{next(self._numbers)}"


def scope_of(ctx: Context) -> CallScope | None:
    """The innermost call of a node that the current code is part of, if there is one."""
    return next((scope for scope in reversed(_SCOPES.get()) if scope.is_of(ctx)), None)


def scope_key(ctx: Context) -> str | None:
    """The idempotency key of that call."""
    scope = scope_of(ctx) if _SCOPES.get() else None
    return None if scope is None else scope.key


def keep_question(ctx: Context, question: object, question_id: str | None) -> None:
    """Records an unanswered question in the enclosing calls of a node."""
    for scope in _SCOPES.get():
        if scope.is_of(ctx):
            scope.keep(question, question_id)


def pause_in(left: BaseException, kind: type[_Pause]) -> _Pause | None:
    """The pause of class `kind` that left a node, also in a group that holds nothing else."""
    while isinstance(left, BaseExceptionGroup):
        if left.split(kind)[1] is not None:
            return None
        left = left.exceptions[0]
    return left if isinstance(left, kind) else None


def question_in(left: BaseException) -> BaseException | None:
    """The pause in a group of exceptions that holds nothing else."""
    while isinstance(left, BaseExceptionGroup):
        if left.split(lambda error: hasattr(error, "__antiphon_question__"))[1] is not None:
            return None
        left = left.exceptions[0]
    return left


def relay_questions(run: Run) -> bool:
    """Passes the questions of a paused run to the node that started it.

    Returns whether they were answered, so that the run can continue. A run with a separate
    thread keeps its questions.

    Raises:
        Interrupted: a question has no answer yet; it leaves the node, and pauses its run.
        StateError: the node has ended (``node_ended``).
    """
    if run.thread is not None or run.outcome != "paused":
        return False
    caller = run.caller
    if caller is None:
        # A task that has outlived its node may have started it; then there would be no answer.
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
