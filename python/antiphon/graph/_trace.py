"""Reporting runs of graphs and their nodes to LangChain's callbacks.

LangChain is imported only for a run that is traced: somebody has given it callbacks, or tracing is
turned on by the environment of a program that uses LangChain.
"""

from __future__ import annotations

import functools
import os
import sys
import uuid
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphInterrupt
from antiphon._pause import asks
from antiphon.graph._run_handle import RunHandle
from antiphon.graph._runnable import load_runnables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import ContextVar

    from antiphon.graph._tokens import TaskPosition

_SWITCHES = ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2")


def is_traced(settings: Mapping[str, Any]) -> bool:
    """Whether a run is traced."""
    if settings.get("callbacks"):
        return True
    # The switch may be set for other programs: it counts only if LangChain is imported.
    if "langchain_core" not in sys.modules:
        return False
    chosen = _choice_of_context()
    return _is_switched_on() if chosen is None else chosen


def _choice_of_context() -> bool | None:
    """What LangSmith's context says about tracing; ``None`` if the environment decides."""
    helpers = sys.modules.get("langsmith.run_helpers")
    if helpers is None or _tracing_variables().isdisjoint(copy_context()):
        return None
    context = helpers.get_tracing_context()
    if context["enabled"] is not None:
        return bool(context["enabled"])
    return True if context["parent"] is not None else None


@functools.cache
def _tracing_variables() -> frozenset[ContextVar[Any]]:
    """The context variables that LangSmith sets where it is told whether to trace.

    To see that none is set takes a fifth of the time that asking LangSmith takes.
    """
    helpers = sys.modules["langsmith.run_helpers"]

    def choose() -> frozenset[ContextVar[Any]]:
        with helpers.tracing_context(enabled=False):
            return frozenset(copy_context())

    return Context().run(choose)


@functools.cache
def _is_switched_on() -> bool:
    """Whether the environment turns tracing on; it is read once, as by LangSmith."""
    return any(os.environ.get(name, "").lower() == "true" for name in _SWITCHES)


class Trace:
    """Reports one run to LangChain's callbacks.

    Questions of a nested run are reported by the run that asks them (`asks_above`), once they are
    stored.

    Raises:
        ImportError: LangChain is not installed.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        name: str,
        run_id: Any,
        given: Any,
        *,
        asks_above: bool = False,
    ) -> None:
        load_runnables("`callbacks`")
        self.id = _uuid(run_id)
        self._next: uuid.UUID | None = self.id
        self._settings = settings
        self._name = name
        self._given = given
        self._asks_above = asks_above
        self._run: Any = None
        self._tasks: dict[str, Any] = {}

    def handle(self, *parts: Any) -> TracedRunHandle:
        """A handle that reports here; args as of `RunHandle`."""
        return TracedRunHandle(self, *parts)

    def fail(self, error: BaseException) -> None:
        """Reports the failure of the run."""
        if self._asks_above and asks(error):
            error = GraphInterrupt()
        self._close(error)
        self._run.on_chain_error(error)

    def over(self, handle: RunHandle, error: BaseException | None) -> None:
        """Reports the end or the pause of the run."""
        if error is not None:
            self.fail(error)
            return
        self._close(GraphInterrupt())
        self._run.on_chain_end(handle.result())

    def enter(self, node: str, position: TaskPosition, metadata: dict[str, Any], given: Any) -> Any:
        """Reports the start of a task, and returns its callbacks."""
        space, task, step, _, _ = position
        if task not in self._tasks:  # a further attempt belongs to the same task
            around = self._around(space, metadata, given)
            self._tasks[task] = _start(around, node, step, (metadata, given))
        return self._tasks[task].get_child()

    def note(self, news: Mapping[str, Any]) -> None:
        """Reports the end of a task, if that is the news."""
        run = None if "input" in news else self._tasks.pop(news["id"], None)
        if run is None:
            return
        if news["error"] is not None:
            run.on_chain_error(news["error"])
        elif news["interrupts"]:
            run.on_chain_error(GraphInterrupt(() if self._asks_above else news["interrupts"]))
        else:
            run.on_chain_end(news["result"] or None)

    def begin(self) -> None:
        """Reports the start of the run; after a pause it is another run here."""
        from langchain_core.callbacks import CallbackManager

        manager = CallbackManager.configure(
            inheritable_callbacks=self._settings.get("callbacks"),
            inheritable_tags=self._settings["tags"],
            inheritable_metadata=self._settings["metadata"],
        )
        self._run = manager.on_chain_start(None, self._given, name=self._name, run_id=self._next)
        self._next = None

    def _around(self, space: tuple[str, ...], metadata: dict[str, Any], given: Any) -> Any:
        """The run of the graph; of a nested graph its task, which starts with the first node."""
        if not space:
            return self._run
        node, _, task = space[-1].partition(":")
        if task not in self._tasks:
            around = self._around(space[:-1], metadata, given)
            self._tasks[task] = _start(around, node, None, (metadata, given))
        return self._tasks[task]

    def _close(self, error: BaseException) -> None:
        """Reports the end of tasks that were stopped, or that wait for an answer."""
        for run in reversed(self._tasks.values()):
            run.on_chain_error(error)
        self._tasks.clear()


class TracedRunHandle(RunHandle):
    """A run of a graph that is traced."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace, *parts: Any) -> None:
        super().__init__(*parts)
        self._trace = trace

    def _begin(self) -> None:
        self._trace.begin()

    def _settle(self, error: BaseException | None) -> bool:
        try:
            paused = super()._settle(error)
        except BaseException as raised:
            self._trace.fail(raised)
            raise
        self._trace.over(self, error)
        return paused


def _uuid(given: Any) -> uuid.UUID:
    """An id as LangChain takes it; other ids are replaced."""
    try:
        return uuid.uuid4() if given is None else uuid.UUID(str(given))
    except ValueError:
        return uuid.uuid4()


def _start(around: Any, node: str, step: int | None, about: tuple[dict[str, Any], Any]) -> Any:
    metadata, given = about
    manager = around.get_child(None if step is None else f"graph:step:{step}")
    manager.add_metadata(metadata)
    return manager.on_chain_start(None, given, name=node)
