"""The errors of graphs, with LangGraph's names, as members of antiphon's tree.

::

    AntiphonError
    ├── BudgetError     └── GraphRecursionError  (also a RecursionError)
    ├── StateError      └── InvalidUpdateError
    │                       ├── UnknownTargetError      (also a ValueError)
    │                       ├── UnknownLabelError       (also a KeyError)
    │                       └── UnmergeableUpdateError  (also a TypeError)
    ├── ValidationError ├── EmptyInputError
    │                   └── GraphBuildError      (also a ValueError)
    │                       └── AnswerError      (also a RuntimeError)
    ├── RunTimeout      ├── NodeTimeoutError
    │                   └── StepTimeoutError     (also a TimeoutError)
    └── InternalError   └── NodeCancelledError
    Exception
    └── GraphBubbleUp   ├── GraphInterrupt       a pause on its way out of a node: no error
                        └── ParentCommand        a command for an enclosing graph

LangGraph's users catch ``ValueError`` around building and ``KeyError`` around a path map, so some
classes are members of both trees.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from antiphon._antiphon import Command
from antiphon.errors import (
    AntiphonError,
    BudgetError,
    InternalError,
    RunTimeout,
    StateError,
    ValidationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class GraphBubbleUp(Exception):
    """An exception that is no failure: it is never retried, and no error handler gets it.

    It stays outside `AntiphonError`, so that a node's ``except AntiphonError``
    around a tool call cannot swallow a pause.
    """


class GraphInterrupt(GraphBubbleUp):
    """A node asked a question and waits for its answer.

    Args:
        interrupts: the questions. Default: none.
    """

    def __init__(self, interrupts: Sequence[Any] = ()) -> None:
        super().__init__(tuple(interrupts))
        self._carried: tuple[Any, ...] = ()

    @classmethod
    def carrying(cls, interrupt: Any) -> GraphInterrupt:
        """A pause that leaves a node without showing its question.

        Callbacks of what the node calls see it before the question is stored.

        Args:
            interrupt: the question.
        """
        made = cls()
        made._carried = (interrupt,)
        return made

    @property
    def interrupts(self) -> tuple[Any, ...]:
        """The questions, in the order asked."""
        questions: tuple[Any, ...] = self.args[0]
        return self._carried or questions

    @property
    def __antiphon_question__(self) -> Any:
        """The question's value; the engine knows a pause by this attribute."""
        if not self.interrupts:
            raise AttributeError("the pause holds no question")
        return self.interrupts[0].value

    @property
    def __antiphon_question_id__(self) -> str:
        """The question's id, if a nested graph asks it."""
        return str(self.interrupts[0].id) if self.interrupts else ""


class _GraphError(AntiphonError):
    """Gives each class a default code."""

    default_code: ClassVar[str]

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code or self.default_code, details=details, hint=hint)


class GraphRecursionError(_GraphError, BudgetError, RecursionError):
    """The graph reached its limit of supersteps before it finished."""

    default_code = "graph_recursion_limit"


class InvalidUpdateError(_GraphError, StateError):
    """A node wrote something that a channel cannot take."""

    default_code = "invalid_update"


class EmptyInputError(_GraphError, ValidationError):
    """The graph was given nothing to start from."""

    default_code = "empty_input"


class NodeTimeoutError(_GraphError, RunTimeout):
    """One attempt of a node took longer than its policy allows; not an ``OSError``.

    Its fields live in ``details``: ``node``, ``kind`` (``"run"`` or ``"idle"``),
    and in seconds ``elapsed``, ``timeout`` (the limit that fired),
    ``run_timeout`` and ``idle_timeout`` (the policy; absent if not set).
    """

    default_code = "node_timeout"

    @property
    def node(self) -> str | None:
        """The node's name."""
        return self.details.get("node")

    @property
    def kind(self) -> str | None:
        """Which limit fired: ``"run"`` or ``"idle"``."""
        return self.details.get("kind")

    @property
    def elapsed(self) -> float | None:
        """How long the attempt had run, in seconds."""
        return self.details.get("elapsed")

    @property
    def timeout(self) -> float | None:
        """The limit that fired, in seconds."""
        return self.details.get("timeout")

    @property
    def run_timeout(self) -> float | None:
        """The policy's limit for an attempt, in seconds; none if not set."""
        return self.details.get("run_timeout")

    @property
    def idle_timeout(self) -> float | None:
        """The policy's limit without progress, in seconds; none if not set."""
        return self.details.get("idle_timeout")


class GraphBuildError(_GraphError, ValidationError, ValueError):
    """A graph, a schema or a setting is wrong; nothing has run."""

    default_code = "graph_invalid"


class AnswerError(GraphBuildError, RuntimeError):
    """An answer does not say which question it is for, or no such question is open."""

    default_code = "answer_invalid"


class UnknownTargetError(InvalidUpdateError, ValueError):
    """A router, a `Send` or a ``goto`` leads to an unknown node."""


class UnknownLabelError(InvalidUpdateError, KeyError):
    """A router returned a value that its path map lacks."""


class UnmergeableUpdateError(InvalidUpdateError, TypeError):
    """The reducer of a key cannot merge a write: a tuple into a list."""


class StepTimeoutError(RunTimeout, TimeoutError):
    """A superstep took longer than the graph's ``step_timeout``."""


class NodeCancelledError(InternalError):
    """A node's own code raised ``asyncio.CancelledError``, and the run was not cancelled."""

    @property
    def node(self) -> str | None:
        """The node's name."""
        return self.details.get("node")


class ParentCommand(GraphBubbleUp):
    """A node addressed the enclosing graph, and there is none.

    Where the graph was invoked by another graph's node, that one is meant: the command takes
    the place of what that node returns.

    Args:
        command: what the node returned.
    """

    def __init__(self, command: Command) -> None:
        super().__init__(command)
        # The engine knows it by this attribute when it leaves a node of another graph.
        self.__antiphon_command__ = Command(update=command.update, goto=command.goto)

    @property
    def command(self) -> Command:
        """The command."""
        command: Command = self.args[0]
        return command


_BY_CODE: Mapping[str, type[AntiphonError]] = {
    "target_unknown": UnknownTargetError,
    "label_unknown": UnknownLabelError,
    "answer_invalid": AnswerError,
    "question_unknown": AnswerError,
    "write_unmergeable": UnmergeableUpdateError,
    "node_cancelled": NodeCancelledError,
    "step_timeout": StepTimeoutError,
    "thread_empty": EmptyInputError,
}
_BY_KIND: Mapping[type[AntiphonError], type[AntiphonError]] = {
    StateError: InvalidUpdateError,
    RunTimeout: NodeTimeoutError,
    ValidationError: GraphBuildError,
}


def as_graph_error(error: AntiphonError) -> Exception:
    """The same failure as a member of the graph's family, with its details and notes.

    Subclasses of the general classes are the user's or the graph's own, and stay as they are. A
    command without an enclosing graph becomes a `ParentCommand`.
    """
    if error.code == "parent_missing" and hasattr(error, "command"):
        return ParentCommand(error.command).with_traceback(error.__traceback__)
    kind = _BY_CODE.get(error.code, _BY_KIND.get(type(error)))
    if kind is None or isinstance(error, kind):
        return error
    details = dict(error.details)
    if kind is NodeTimeoutError:
        details = {key: value for key, value in details.items() if value is not None}
    new = kind(error.message, code=error.code, details=details, hint=error.hint)
    new.__notes__ = list(error.__notes__)
    new.__cause__ = error.__cause__
    return new.with_traceback(error.__traceback__)


@contextmanager
def graph_errors() -> Iterator[None]:
    """Raises failures of the engine as members of the graph's family."""
    try:
        yield
    except AntiphonError as error:
        raise as_graph_error(error) from error.__cause__
