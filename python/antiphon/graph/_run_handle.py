"""Runs of graphs, and the results that hold a paused run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import select
from antiphon._event_loop import blocking_call, level_of_caller, on_own_loop
from antiphon._graph_errors import AnswerError, GraphRecursionError, as_graph_error
from antiphon._pause import relay_questions
from antiphon.errors import AntiphonError, BudgetError, RunCancelled
from antiphon.graph._runtime import Interrupt, pausing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from antiphon._antiphon import Run
    from antiphon.graph._plan import GraphPlan

_END = object()


class RunHandle:
    """A run of a graph.

    Attributes:
        again: the arguments of a call that continues its thread; ``None`` without one.
    """

    __slots__ = ("_limit", "_plan", "_run", "again")

    def __init__(self, run: Run, limit: int, plan: GraphPlan) -> None:
        self.again: dict[str, Any] | None = None
        self._run = run
        self._limit = limit
        self._plan = plan

    def state(self) -> dict[str, Any]:
        """The state now."""
        return self._run.values

    def preview(self) -> dict[str, Any] | None:
        """At a pause: the state with the writes of ended tasks; ``None`` without such writes.

        They are merged once the tasks that asked are done too.
        """
        return self._run.preview()

    def result(self) -> dict[str, Any]:
        """The state at the end, or the preview at a pause."""
        return (self.preview() if self.is_paused() else None) or self.state()

    def output(self, keys: str | Sequence[str] | None, version: str, *, paused: bool) -> Any:
        """What `CompiledGraph.invoke` returns of it at its end or a pause; args as there."""
        state = self.result() if paused else self.state()
        shown = select(state, self._plan.output_keys if keys is None else keys)
        shown = None if shown == {} and not paused else shown
        if version == "v2":
            made = self._plan.output.made(shown) if keys is None else shown
            return GraphOutput(made, self.questions(), self if paused else None)
        if paused:
            return Paused(shown if isinstance(shown, dict) else {}, self)
        return shown

    def is_paused(self) -> bool:
        """Whether it waits for answers."""
        return self._run.outcome == "paused"

    def is_stopped(self) -> bool:
        """Whether it ended at a breakpoint."""
        return self._run.outcome == "breakpoint"

    def questions(self) -> tuple[Interrupt, ...]:
        """The open questions."""
        if not self.is_paused():
            return ()
        return tuple(Interrupt(value, key) for key, _, value in self._run.questions)

    def answer(self, answers: dict[str, Any]) -> None:
        """Answers questions by id; then drive it again."""
        for key, value in answers.items():
            self._run.answer(key, value)

    def drain(self) -> bool:
        """Drives it to its end or a pause; returns whether it is paused."""
        self._begin()
        try:
            level = level_of_caller()
            outcome = blocking_call(level, self._run.drain)
            while outcome == "paused" and self.asks_above():
                outcome = blocking_call(level, self._run.drain)
        except BaseException as error:
            self._settle(error)
            raise
        return self._settle(None)

    async def adrain(self) -> bool:
        """`drain` on the caller's event loop."""
        self._begin()
        try:
            outcome = await self._run
            while outcome == "paused" and self.asks_above():
                outcome = await self._run
        except BaseException as error:
            self._settle(error)
            raise
        return self._settle(None)

    # Streams iterate over the run itself: a generator within another would slow down each chunk.
    def __enter__(self) -> Run:
        self._begin()
        return self._run

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_left():
            blocking_call(level_of_caller(), self._run.drain)
        self._settle(error)

    def chunks(self) -> Iterator[Any]:
        """What is left of its stream, within the handle."""
        level = level_of_caller()
        if level == 0 and not on_own_loop():
            yield from self._run
            return
        # This thread may be that of a loop, where async code of the run cannot run while it waits.
        while True:
            chunk = blocking_call(level, next, self._run, _END)
            if chunk is _END:
                return
            yield chunk

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_left():
            await self._run
        self._settle(error)

    def asks_above(self) -> bool:
        """Passes the questions of a nested graph to the run of the node that invoked it."""
        if self._run.outcome != "paused":
            return False
        with pausing():
            return relay_questions(self._run)

    def _is_left(self) -> bool:
        """Cancels the run if its stream was left before the end, and returns whether it was."""
        if self._run.outcome != "running":
            return False
        self._run.cancel("the stream was closed")
        return True

    def _begin(self) -> None:
        """Called before the run is driven."""

    def _settle(self, error: BaseException | None) -> bool:
        """Raises the exception of a run that failed, was cut short, or reached its limit.

        Returns whether it is paused.
        """
        if error is not None:
            if isinstance(error, AntiphonError):
                raise self._graph_error(error) from error.__cause__
            return False
        run = self._run
        outcome = run.outcome
        if outcome == "budget" and run.reason != "supersteps":
            raise BudgetError(
                f"the graph reached a limit: {run.reason}",
                code="budget_exhausted",
                details={"dimension": run.reason},
                hint="raise it in `limits=` of `compile`",
            )
        if outcome == "budget" or (outcome == "completed" and run.steps >= self._limit):
            raise self._endless()
        if outcome == "cancelled":
            raise RunCancelled(f"the run was cancelled: {run.reason}", code="run_cancelled")
        return outcome == "paused"

    def _graph_error(self, error: AntiphonError) -> Exception:
        # A nested graph that runs out of supersteps is a failed node of the graph around it.
        if error.code == "budget_exhausted" and error.details.get("dimension") == "supersteps":
            return self._endless()
        return as_graph_error(error)

    def _endless(self) -> GraphRecursionError:
        upcoming = list(dict.fromkeys(self._run.upcoming))
        loop = self._plan.diagram.loop_through(upcoming)
        found = f"; `{'`, `'.join(loop)}` form a loop" if len(loop) > 1 else ""
        found = f"; `{loop[0]}` leads to itself" if len(loop) == 1 else found
        waiting = f"; next would be `{'`, `'.join(upcoming)}`" if upcoming else ""
        return GraphRecursionError(
            f"the graph did not end within its limit of supersteps{found}{waiting}: {self._limit}",
            details={"limit": self._limit, "next": upcoming, "loop": loop},
            hint="raise `recursion_limit` in the config, or look for a loop without an end "
            "(GRAPH_RECURSION_LIMIT)",
        )


class Paused(dict[str, Any]):
    """The state at a pause, with the open questions under ``__interrupt__``.

    It holds the run itself: hand it to `CompiledGraph.resume` with the answers, in the same
    process. Pickled or copied it is a plain dict.
    """

    __slots__ = ("_handle",)

    def __init__(self, state: Mapping[str, Any], handle: RunHandle) -> None:
        super().__init__(state, __interrupt__=list(handle.questions()))
        self._handle = handle

    @property
    def handle(self) -> RunHandle:
        """The run that waits."""
        return self._handle

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        """The open questions."""
        return tuple(self["__interrupt__"])

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def by_id(paused: Paused | GraphOutput, answer: Any) -> tuple[RunHandle, dict[str, Any]]:
    """The paused run, and the answers by the ids of its questions.

    Raises:
        AnswerError: several questions are open and the answer names none, or the
            pause is over, or never was one.
    """
    if not hasattr(paused, "handle"):
        raise AnswerError(
            f"`resume` takes the paused result of `invoke`, found: {type(paused).__name__}",
            hint="to answer by thread, call `invoke(Command(resume=answer), config)`",
        )
    handle = paused.handle
    if handle is None:
        raise AnswerError("the run does not wait for an answer")
    open_ = [question.id for question in handle.questions()]
    asked = [question.id for question in paused.interrupts]
    if open_ != asked:
        raise AnswerError(
            f"the run was already resumed from this pause: {', '.join(asked)}",
            hint="resume from what the last `resume` returned",
        )
    if isinstance(answer, dict) and answer and set(answer) <= set(open_):
        return handle, answer
    if len(open_) > 1:
        raise AnswerError(
            f"several questions are open, and the answer names none: {len(open_)}",
            details={"questions": open_},
            hint="pass a dict from question ids to answers",
        )
    return handle, {open_[0]: answer}


@dataclass(frozen=True)
class GraphOutput:
    """The result of a run, with its questions.

    Attributes:
        value: the state: an instance of the output schema if that is a dataclass or a pydantic
            model and all its fields are there, else a dict.
        interrupts: the open questions; hand the whole to `CompiledGraph.resume` to answer them.
    """

    value: Any
    interrupts: tuple[Interrupt, ...] = ()
    handle: RunHandle | None = field(default=None, repr=False, compare=False)
    """The run that waits, if it does."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphOutput, (self.value, self.interrupts)
