"""LangGraph's error names, as members of antiphon's tree.

::

    AntiphonError
    ├── BudgetError     └── GraphRecursionError  (also a RecursionError)
    ├── StateError      └── InvalidUpdateError
    ├── ValidationError └── EmptyInputError
    └── RunTimeout      └── NodeTimeoutError
    Exception
    └── GraphBubbleUp   └── GraphInterrupt       a pause on its way out of a node: no error
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError, BudgetError, RunTimeout, StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "BY_CODE",
    "EmptyInputError",
    "GraphBubbleUp",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidUpdateError",
    "NodeTimeoutError",
]


class GraphBubbleUp(Exception):
    """What leaves a node without being a failure: never retried, never handled as an error.

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
        """One that leaves a node, and does not show its question.

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
    def __antiphon_asker__(self) -> str:
        """The question's id, if a graph that the node has invoked asks it; else nothing."""
        return str(self.interrupts[0].id) if self.interrupts else ""


class GraphRecursionError(BudgetError, RecursionError):
    """The graph reached its limit of supersteps before it finished."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "graph_recursion_limit",
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, hint=hint)


class InvalidUpdateError(StateError):
    """A node wrote something that a channel cannot take."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "invalid_update",
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, hint=hint)


class EmptyInputError(ValidationError):
    """The graph was given nothing to start from."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "empty_input",
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, hint=hint)


class NodeTimeoutError(RunTimeout):
    """One attempt of a node took longer than its policy allows; not an ``OSError``.

    Its fields live in ``details``: ``node``, ``kind`` (``"run"`` or ``"idle"``),
    and in seconds ``elapsed``, ``timeout`` (the limit that fired),
    ``run_timeout`` and ``idle_timeout`` (the policy; absent if not set).
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "node_timeout",
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, hint=hint)

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


BY_CODE: Mapping[str, type[AntiphonError]] = MappingProxyType(
    {
        "graph_recursion_limit": GraphRecursionError,
        "invalid_update": InvalidUpdateError,
        "empty_input": EmptyInputError,
        "node_timeout": NodeTimeoutError,
    }
)
"""The graph's own classes by code, for `antiphon.errors.from_fault`."""
