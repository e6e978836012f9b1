"""Resuming runs that paused, failed or were lost."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command, Run
from antiphon._faults import from_fault
from antiphon._orchestrator.batch import run_all
from antiphon._orchestrator.options import read_count
from antiphon._orchestrator.outcome import how_it_ended
from antiphon._orchestrator.updates import UNANSWERED, answers_to, edit
from antiphon._sync_async import Routine, async_method, drive, sync_method, twin
from antiphon._thread_store import fresh_name, thread_name
from antiphon._threads import START, Threads, checkpoint_id
from antiphon._type_params import ContextT, Generic, StateT
from antiphon._watch.watcher import watching
from antiphon.errors import RunCancelled, StateError, ValidationError
from antiphon.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._antiphon import Engine, ThreadRef
    from antiphon._orchestrator.assemble import AssembledTeam
    from antiphon._serialization.registry import Registry
    from antiphon._watch.drive import Show
    from antiphon._watch.watcher import Watch
    from antiphon.result import Outcome


class ResumableRuns(Threads, Generic[StateT, ContextT]):
    """Resuming the runs of a team."""

    name: str
    _built: AssembledTeam

    @sync_method
    def resume(
        self,
        run: Result[Any, Any] | str,
        answers: Any = UNANSWERED,
        *,
        checkpoint: int | None = None,
        context: ContextT | None = None,
        watch: Watch = None,
    ) -> Routine[Result[Any, StateT]]:
        """Resumes a run: with answers to its questions, or from where it crashed.

        A run that is stored in a thread can be resumed by any process, by a team of the same
        agents. Finished work is not repeated.

        Args:
            run: the result of `run` or `resume`, also an unpickled one; or the name of a
                thread.
            answers: the answer to the one question, or a dict from question ids to answers;
                what it leaves out is asked again. Of a thread: to what its `state` lists, also
                where the run was lost before it paused. Default: none; a run that was lost, failed,
                was cancelled or reached a limit then continues from there, and one that ended
                returns its result again.
            checkpoint: the id of a checkpoint of the thread, to continue from there in a new
                branch: the agents that were next there run again. Default: the end.
            context: as for `run`, given again: it is not stored. Default: none; a run without a
                thread keeps the one that it has.
            watch: as for `run`. A run without a thread that nobody watched before it paused shows
                its events at the end.

        Returns:
            As `run`. Its limits cover the run as a whole.

        Raises:
            ValidationError: the run is not paused, has been resumed already, has no thread and
                was unpickled, or the answer does not name its question (``answer_invalid``,
                ``question_unknown``); the thread is empty (``thread_empty``).
            StateError: as `run`; another run writes to the thread (``thread_busy``); or it has no
                such checkpoint (``checkpoint_unknown``).
            Exception: as `run`.
        """
        with watching(watch) as show:
            at = (answers, checkpoint)
            resumed = yield from self._resume(run, *at, context, watched=show is not None)
            return (yield from self._drive(resumed, show=show))

    aresume = async_method(resume)

    @sync_method
    def recover(
        self, *, concurrency: int = 8, context: ContextT | None = None, watch: Watch = None
    ) -> Routine[list[Result[Any, StateT]]]:
        """Resumes all runs that were lost; see `orphans`.

        Call it when a program starts, to resume runs of crashed processes. Several processes may
        call it at the same time: each run is resumed by one of them.

        Args:
            concurrency: how many run at a time. Default: 8.
            context: as for `resume`, for all of them.
            watch: as for `run`; it receives the events of all of them, one after the other.

        Returns:
            Their results, in the order of the threads' names; a run that fails becomes a
            result with the outcome ``error``. Those that another process has taken up are
            left out.

        Raises:
            ValidationError: as `orphans`.
            StateError: as `orphans`.
        """
        read_count(concurrency, "concurrency", "recovering")
        threads = yield twin(self._engine, "orphans", self._thread_store().ref(""))
        refs = [self._thread_store().ref(thread) for thread in threads]
        options: Any = {"keep": True, "context": context, "watch": watch}
        results = yield from self._run_all(
            [(None, ref) for ref in refs], concurrency=concurrency, **options
        )
        # Another process may have resumed some of them meanwhile.
        return [one for one in results if getattr(one.error, "code", "") != "thread_busy"]

    arecover = async_method(recover)

    @property
    def _engine(self) -> Engine:
        return self._built.engine

    def _registry(self) -> Registry:
        return self._built.registry()

    def _state(self, values: dict[str, Any]) -> Any:
        return self._built.state.show(values)

    def _outcome_of(self, shown: dict[str, Any]) -> tuple[Outcome, str]:
        if shown["fault"] is None:
            return how_it_ended(shown["outcome"], shown["reason"], None, shown["values"])
        error = from_fault(shown["fault"])
        if isinstance(error, RunCancelled):
            # Ctrl-C, while an agent had the only thread there is.
            return "cancelled", error.message
        outcome, reason = how_it_ended("failed", error.message, error, shown["values"])
        return outcome, reason if outcome != "error" else error.message

    def _write(self, ref: ThreadRef, values: Any, writer: str) -> Routine[int]:
        written = edit(values, self._built.state, None if writer == START else writer)
        try:
            run = self._engine.start(written, thread_ref=ref)
        except StateError as error:
            raise ValidationError(error.message, code="input_invalid", hint=error.hint) from error
        yield drive(run)
        return run.checkpoint or 0

    def _resume(
        self, run: Any, answers: Any, checkpoint: int | None, context: Any, *, watched: bool
    ) -> Routine[Run]:
        if isinstance(run, Result) and run.thread is None:
            held = self._in_place(run, answers, checkpoint)
            if context is not None:
                held.replace_context(context)
            return held
        if not isinstance(run, Result | str):
            raise ValidationError(
                f"`resume` takes the result of a run, or a thread: {type(run).__name__}",
                code="answer_invalid",
            )
        store, seq = self._thread_store(), checkpoint_id(checkpoint)
        thread = thread_name(run.thread if isinstance(run, Result) else run)
        if seq is not None:
            return self._fork_run(thread, answers, seq, context, watched=watched)
        given: Command[Any] | None = None
        if answers is not UNANSWERED and isinstance(run, Result):
            given = Command(resume=answers_to(run.questions, answers, run.outcome))
        elif isinstance(run, str):
            given = yield from self._answers(thread, answers)
        return self._launch(given, store.ref(thread), context=context, watched=watched)

    def _answers(self, thread: str, answers: Any) -> Routine[Command[Any] | None]:
        """What resumes a thread of which only the name is known."""
        try:
            shown = yield from self._load(thread, None)
            if answers is UNANSWERED:
                return None
            # The run may have been lost while other tasks ran beside the one that asks.
            return Command(resume=answers_to(shown.questions, answers, shown.outcome))
        except ValidationError:
            # A run that is under way may not have stored its first step, or its question, yet.
            yield self._check_idle(thread)
            raise

    def _fork_run(
        self, thread: str, answers: Any, checkpoint: int, context: Any, *, watched: bool
    ) -> Run:
        """Resumes from a checkpoint, as another run."""
        if answers is not UNANSWERED:
            raise ValidationError(
                f"answers belong to the questions at the end of a thread, not at: {checkpoint}",
                code="answer_invalid",
                hint="resume from the checkpoint without an answer; the question is asked again",
            )
        ref = self._thread_store().ref(thread, checkpoint)
        return self._launch(None, ref, context=context, watched=watched, run_id=fresh_name())

    def _in_place(self, result: Result[Any, Any], answers: Any, checkpoint: int | None) -> Run:
        """Resumes a run without a thread, which its result holds."""
        if checkpoint is not None:
            raise ValidationError(
                f"the run has no thread, and so no checkpoint: {checkpoint}",
                code="thread_unkept",
            )
        if answers is UNANSWERED:
            raise ValidationError(
                f"a run without a thread continues only with an answer, its outcome is: "
                f"{result.outcome}",
                code="answer_invalid",
                hint="`team.resume(result, answer)`; or give the team a `checkpointer`",
            )
        given = answers_to(result.questions, answers, result.outcome)
        run: Run | None = result._paused  # noqa: SLF001 - a result keeps its run for this alone
        if run is None or run.outcome != "paused":
            reason = "it was unpickled" if run is None else "it was already resumed"
            raise ValidationError(
                f"the result cannot be resumed: {reason}",
                code="answer_invalid",
                hint="resume the result that the last `run` or `resume` returned",
            )
        # All of them or none: an answer that cannot be taken leaves the pause as it is.
        for key, value in given.items():
            run.check_answer(key, value)
        for key, value in given.items():
            run.answer(key, value)
        return run

    @abstractmethod
    def _launch(
        self,
        first: Any,
        ref: ThreadRef | None,
        *,
        context: Any = None,
        watched: bool = False,
        run_id: str | None = None,
    ) -> Run: ...

    @abstractmethod
    def _drive(
        self, run: Run, *, keep: bool = False, show: Show | None = None
    ) -> Routine[Result[Any, StateT]]: ...

    def _run_all(
        self,
        starts: Sequence[tuple[Any, ThreadRef | None]],
        *,
        concurrency: int,
        keep: bool,
        context: Any,
        watch: Watch,
    ) -> Routine[list[Result[Any, StateT]]]:
        """Starts runs and drives them to their ends, several at a time."""
        with watching(watch) as show:

            def one(start: tuple[Any, ThreadRef | None]) -> Routine[Result[Any, StateT]]:
                run = self._launch(*start, context=context, watched=show is not None)
                return self._drive(run, keep=keep, show=show)

            return (yield from run_all(starts, one, concurrency=concurrency, label=self.name))
