"""A run as LangChain's callbacks see it: the graph, and its nodes within it.

LangChain is imported only for a run that is traced: somebody has given it callbacks, or tracing is
turned on by the environment of a program that uses LangChain.
"""

from __future__ import annotations

import functools
import os
import sys
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphInterrupt
from antiphon._pause import asks
from antiphon.graph._run_handle import RunHandle
from antiphon.graph._runnable import load_runnables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon._antiphon import Run
    from antiphon.graph._tokens import TaskPosition

__all__ = ["Trace", "TracedRunHandle", "is_traced"]

_SWITCHES = ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2")


def is_traced(settings: Mapping[str, Any]) -> bool:
    """Whether somebody wants to hear of a run."""
    if settings.get("callbacks"):
        return True
    # A program that never imports LangChain may have it, and the switch, for another's sake.
    return "langchain_core" in sys.modules and _is_switched_on()


@functools.cache
def _is_switched_on() -> bool:
    """Whether the environment says so; like LangSmith, it is asked once."""
    return any(os.environ.get(name, "").lower() == "true" for name in _SWITCHES)


class Trace:
    """What the callbacks of one run have been told so far.

    Args:
        settings: the run's config.
        name: what the run is called.
        run_id: the run's id. Default: a new one.
        given: the input.
        asks_above: whether a node has started it whose own run asks its questions. Callbacks
            are told of these there, once they are stored.

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
        """A handle that it is told of; args as of `RunHandle`."""
        return TracedRunHandle(self, *parts)

    @contextmanager
    def told_of(self, handle: RunHandle) -> Iterator[None]:
        """Tells how a run begins, and how it ends or pauses."""
        self.begin()
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        self.over(handle)

    def fail(self, error: BaseException) -> None:
        """Tells what a run failed with."""
        if self._asks_above and asks(error):
            error = GraphInterrupt()
        self._close(error)
        self._run.on_chain_error(error)

    def over(self, handle: RunHandle, error: BaseException | None = None) -> None:
        """Tells what a run has come to."""
        if error is not None:
            return self.fail(error)
        self._close(GraphInterrupt())
        self._run.on_chain_end(handle.result())
        return None

    def enter(self, node: str, position: TaskPosition, metadata: dict[str, Any], given: Any) -> Any:
        """Tells that a task begins. Gives what is told of within it."""
        space, task, step, _, _ = position
        if task not in self._tasks:  # a further attempt belongs to the same task
            around = self._around(space, metadata, given)
            self._tasks[task] = _start(around, node, step, (metadata, given))
        return self._tasks[task].get_child()

    def note(self, news: Mapping[str, Any]) -> None:
        """Tells that a task has ended, if that is the news."""
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
        """Tells that a run begins; one that goes on after a pause is a run of its own here."""
        from langchain_core.callbacks import CallbackManager

        manager = CallbackManager.configure(
            inheritable_callbacks=self._settings.get("callbacks"),
            inheritable_tags=self._settings["tags"],
            inheritable_metadata=self._settings["metadata"],
        )
        self._run = manager.on_chain_start(None, self._given, name=self._name, run_id=self._next)
        self._next = None

    def _around(self, space: tuple[str, ...], metadata: dict[str, Any], given: Any) -> Any:
        """The graph's own run, or the task whose graph it is: that begins with its first node."""
        if not space:
            return self._run
        node, _, task = space[-1].partition(":")
        if task not in self._tasks:
            around = self._around(space[:-1], metadata, given)
            self._tasks[task] = _start(around, node, None, (metadata, given))
        return self._tasks[task]

    def _close(self, error: BaseException) -> None:
        """Tasks that were stopped, or that something within asks for, have ended too."""
        for run in reversed(self._tasks.values()):
            run.on_chain_error(error)
        self._tasks.clear()


class TracedRunHandle(RunHandle):
    """A run under way that is traced. Args as of `RunHandle`, and the trace."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace, *parts: Any) -> None:
        super().__init__(*parts)
        self._trace = trace

    def drain(self) -> None:
        """Drives it to its end or a pause."""
        with self._trace.told_of(self):
            super().drain()

    async def adrain(self) -> None:
        """Drives it to its end or a pause, on the caller's event loop."""
        with self._trace.told_of(self):
            await super().adrain()

    def __enter__(self) -> Run:
        self._trace.begin()
        return super().__enter__()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            super().__exit__(kind, error, trace)
        except BaseException as raised:
            self._trace.fail(raised)
            raise
        self._trace.over(self, error)

    async def __aenter__(self) -> Run:
        self._trace.begin()
        return await super().__aenter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except BaseException as raised:
            self._trace.fail(raised)
            raise
        self._trace.over(self, error)


def _uuid(given: Any) -> uuid.UUID:
    """An id as LangChain takes it; a run that is called otherwise gets another there."""
    try:
        return uuid.uuid4() if given is None else uuid.UUID(str(given))
    except ValueError:
        return uuid.uuid4()


def _start(around: Any, node: str, step: int | None, about: tuple[dict[str, Any], Any]) -> Any:
    metadata, given = about
    manager = around.get_child(None if step is None else f"graph:step:{step}")
    manager.add_metadata(metadata)
    return manager.on_chain_start(None, given, name=node)
