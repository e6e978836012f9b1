"""One run under way: driving it, streaming it, and reading how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphRecursionError, as_graph_error
from antiphon._relay import relay_questions
from antiphon.errors import AntiphonError, RunCancelled
from antiphon.graph._runtime import Interrupt, pausing

if TYPE_CHECKING:
    from antiphon._antiphon import Run

__all__ = ["Flight"]


class Flight:
    """One run under way.

    Args:
        run: the engine's run.
        limit: supersteps.

    Attributes:
        again: what a call takes to go on in its thread; none if it is in none.
    """

    __slots__ = ("_limit", "_run", "again")

    def __init__(self, run: Run, limit: int) -> None:
        self.again: dict[str, Any] | None = None
        self._run = run
        self._limit = limit

    def state(self) -> dict[str, Any]:
        """The state now."""
        return self._run.values

    def preview(self) -> dict[str, Any] | None:
        """At a pause: the state with the writes of tasks that are done; none without such writes.

        They are merged once the tasks that asked are done too.
        """
        return self._run.preview()

    def result(self) -> dict[str, Any]:
        """What it has come to: the state at its end, or the preview at a pause."""
        return (self.preview() if self.is_paused() else None) or self.state()

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
        try:
            self._run.drain()
            while self.asks_above():
                self._run.drain()
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        self._check()

    async def adrain(self) -> None:
        """Drives it to its end or a pause, on the caller's event loop."""
        try:
            await self._run
            while self.asks_above():
                await self._run
        except AntiphonError as error:
            raise self._told(error) from error.__cause__
        self._check()

    # A generator within another takes its part of every chunk: by these, those who stream
    # iterate over the run itself.
    def __enter__(self) -> Run:
        return self._run

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_left():
            self._run.drain()
        self._settle(error)

    async def __aenter__(self) -> Run:
        return self._run

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_left():
            await self._run
        self._settle(error)

    def asks_above(self) -> bool:
        """Passes the questions of a graph that a node invoked on to that node's own run."""
        if not self.is_paused():
            return False
        with pausing():
            return relay_questions(self._run)

    def _is_left(self) -> bool:
        """Whether somebody has left the stream before its end; then the run is to stop."""
        if self._run.outcome != "running":
            return False
        self._run.cancel("the stream was closed")
        return True

    def _settle(self, error: BaseException | None) -> None:
        """Raises what a stream ends with, where that differs from what ended it."""
        if isinstance(error, AntiphonError):
            raise self._told(error) from error.__cause__
        if error is None:
            self._check()

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
