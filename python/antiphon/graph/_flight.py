"""One run under way: driving it, streaming it, and reading how it ended."""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError, RunCancelled
from antiphon.graph._config import around
from antiphon.graph._errors import GraphRecursionError
from antiphon.graph._faults import as_graph_error
from antiphon.graph._langchain import entering
from antiphon.graph._runtime import Interrupt, interrupt
from antiphon.graph._stream import Forwarded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from antiphon._antiphon import Context, Engine, Run
    from antiphon.graph._stream import Shape
    from antiphon.graph._trace import Trace

__all__ = ["Flight", "launch"]

_WATCHED: ContextVar[Shape | None] = ContextVar("antiphon_watched", default=None)
# What somebody who streams a run wants to see of the graphs that its nodes invoke.


class Flight:
    """One run under way.

    Args:
        run: the engine's run.
        limit: supersteps.
        outer: the context of the node that started it; none outside of nodes.
        space: the namespace under which it shows in the stream of that node's run; none if
            it does not.
    """

    __slots__ = ("_limit", "_outer", "_run", "_space")

    def __init__(
        self, run: Run, limit: int, outer: Context | None = None, space: str | None = None
    ) -> None:
        self._run = run
        self._limit = limit
        self._outer = outer
        self._space = space

    def state(self) -> dict[str, Any]:
        """The state now."""
        return self._run.values

    def preview(self) -> dict[str, Any] | None:
        """At a pause: the state with the writes of tasks that are done; none without such writes.

        They are merged once the tasks that asked are done too.
        """
        return self._run.preview() if self.is_paused() else None

    def is_paused(self) -> bool:
        """Whether it waits for answers."""
        return self._run.outcome == "paused"

    def questions(self) -> tuple[Interrupt, ...]:
        """What it waits for."""
        if not self.is_paused():
            return ()
        return tuple(Interrupt(value, key) for key, _, value in self._run.questions)

    def answer(self, answers: dict[str, Any]) -> None:
        """Answers questions by id; then drive it again."""
        for key, value in answers.items():
            self._run.answer(key, value)

    def drain(self) -> None:
        """Drives it to its end or a pause."""
        if self._space is not None:
            for _ in self.items():
                pass
            return
        try:
            self._run.drain()
            while self._asks_above():
                self._run.drain()
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        self._check()

    async def adrain(self) -> None:
        """Drives it to its end or a pause, on the caller's event loop."""
        if self._space is not None:
            async for _ in self.aitems():
                pass
            return
        try:
            await self._run
            while self._asks_above():
                await self._run
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        self._check()

    def items(self) -> Iterator[Any]:
        """Drives it and yields what it shows, item by item."""
        try:
            while True:
                for item in self._run:
                    self._tell(item)
                    yield item
                if not self._asks_above():
                    break
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        finally:
            if self._run.outcome == "running":
                self._run.cancel("the stream was closed")
                self._run.drain()
        self._check()

    async def aitems(self) -> AsyncGenerator[Any, None]:
        """Drives it on the caller's event loop and yields what it shows, item by item."""
        try:
            while True:
                async for item in self._run:
                    self._tell(item)
                    yield item
                if not self._asks_above():
                    break
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        finally:
            if self._run.outcome == "running":
                self._run.cancel("the stream was closed")
                await self._run
        self._check()

    def _asks_above(self) -> bool:
        """Passes the questions of a graph that a node invoked on to that node's own run."""
        if self._outer is None or not self.is_paused():
            return False
        self.answer({question.id: interrupt(question.value) for question in self.questions()})
        return True

    def _tell(self, item: Any) -> None:
        """Lets the node's own run show an item."""
        if self._outer is None or self._space is None:
            return
        mode, space, payload = item
        tokens = None
        if isinstance(payload, Forwarded):
            tokens = payload.tokens
            mode, space, payload = payload.item
        self._outer.emit(Forwarded((mode, (self._space, *space), payload), tokens))

    def _check(self) -> None:
        """Raises if the run was cut short, or reached its limit with its last step."""
        run = self._run
        outcome = run.outcome
        if outcome == "budget" or (outcome == "completed" and run.steps >= self._limit):
            raise self._endless()
        if outcome == "cancelled":
            raise RunCancelled(f"the run was cancelled: {run.detail}", code="run_cancelled")

    def _told(self, error: AntiphonError) -> Exception:
        # A nested graph that runs out of supersteps is a failed node of the graph around it.
        if error.code == "budget_exhausted" and error.details.get("dimension") == "supersteps":
            return self._endless()
        return as_graph_error(error)

    def _endless(self) -> GraphRecursionError:
        return GraphRecursionError(
            f"the graph did not end within its limit of supersteps: {self._limit}",
            details={"limit": self._limit},
            hint="raise `recursion_limit` in the config, or look for a loop without an end "
            "(GRAPH_RECURSION_LIMIT)",
        )


def launch(
    engine: Engine,
    start: Any,
    shape: Shape | None,
    *,
    signs: bool = False,
    trace: Trace | None = None,
    **options: Any,
) -> Flight:
    """Starts a run.

    Args:
        engine: the graph.
        start: the input.
        shape: what the caller wants to see of the run; none if it only wants the end.
        signs: whether nodes of it have to give signs of life.
        trace: what callbacks are told of it, if there are any.
        **options: what `Engine.start` takes beside.
    """
    outer = around()
    watched = _WATCHED.get() if outer is not None else None
    modes = set(shape.native if shape else ()) | set(watched.native if watched else ())
    readers = [seen.tokens for seen in (shape, watched) if seen and seen.tokens is not None]
    for tokens in readers:
        tokens.begin(options["config"]["metadata"])
    enter = entering(options["config"], readers, signs=signs, trace=trace)
    if enter is not None:
        options["enter"] = enter
    if trace is not None:
        modes.add("tasks")
    if not modes:
        return Flight(engine.start(start, **options), options["limits"]["supersteps"], outer)
    watching = shape if shape is not None and shape.subgraphs else watched
    token = _WATCHED.set(watching)  # the run copies the context variables when it starts
    try:
        run = engine.start(start, modes=tuple(modes), **options)
    finally:
        _WATCHED.reset(token)
    space = f"{outer.node}:{uuid.uuid4()}" if outer is not None and watched is not None else None
    parts = (run, options["limits"]["supersteps"], outer, space)
    return Flight(*parts) if trace is None else trace.over(*parts)
