"""The graph errors that also belong to a builtin family, and how the engine's become the graph's.

LangGraph's users catch ``ValueError`` around building and ``KeyError`` around a path map, so these
classes are members of both trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command
from antiphon.errors import (
    AntiphonError,
    InternalError,
    RunTimeout,
    StateError,
    ValidationError,
)
from antiphon.graph._errors import (
    EmptyInputError,
    GraphBubbleUp,
    InvalidUpdateError,
    NodeTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "GraphBuildError",
    "NodeCancelledError",
    "ParentCommand",
    "StepTimeoutError",
    "UnknownLabelError",
    "UnknownTargetError",
    "UnmergeableUpdateError",
    "as_graph_error",
]


class GraphBuildError(ValidationError, ValueError):
    """A graph, a schema or a setting is wrong; nothing has run."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "graph_invalid",
        details: Mapping[str, Any] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, hint=hint)


class UnknownTargetError(InvalidUpdateError, ValueError):
    """A router, a `Send` or a ``goto`` leads to something that cannot be gone to."""


class UnknownLabelError(InvalidUpdateError, KeyError):
    """A router returned what its path map does not hold."""


class UnmergeableUpdateError(InvalidUpdateError, TypeError):
    """The reducer of a key cannot join what is there with what a node wrote: a tuple to a list."""


class StepTimeoutError(RunTimeout, TimeoutError):
    """A superstep took longer than the graph's ``step_timeout``."""


class NodeCancelledError(InternalError):
    """A node's own code raised ``asyncio.CancelledError``; nobody had cancelled the run."""

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
        """What the node returned."""
        command: Command = self.args[0]
        return command


_BY_CODE: Mapping[str, type[AntiphonError]] = {
    "target_unknown": UnknownTargetError,
    "label_unknown": UnknownLabelError,
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
    """The same failure as a member of the graph's family.

    Args:
        error: what the engine raised. Subclasses of its general classes are the
            user's own, or the graph's already, and are handed back as they are.

    Returns:
        An exception with the same message, code, details and notes, or `error` itself; a
        `ParentCommand` for a command that nobody was there to take.
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
    for note in getattr(error, "__notes__", ()):
        new.add_note(note)
    new.__cause__ = error.__cause__
    return new.with_traceback(error.__traceback__)
