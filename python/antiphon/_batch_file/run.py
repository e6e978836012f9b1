"""Answers the questions of a file, and appends the answers to another."""

from __future__ import annotations

import asyncio
import queue
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from antiphon import _event_loop
from antiphon._batch_file.progress import EventReporter
from antiphon._batch_file.reader import QuestionReader
from antiphon._batch_file.report import BatchReport, LineProblem
from antiphon._batch_file.seen_ids import SeenIds
from antiphon._batch_file.writer import AnswerWriter
from antiphon._orchestrator.options import read_count
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from antiphon._batch_file.reader import Task
    from antiphon.event import Event

_SHOWN = 1_000
"""Refused lines that are reported one by one."""
_HOPELESS = {"model_key_missing", "model_key_refused", "model_quota_exhausted"}
"""What the next question would fail with too."""


class QuestionResult(Protocol):
    """The result of a question."""

    @property
    def outcome(self) -> str:
        """How the run ended."""

    @property
    def error(self) -> AntiphonError | None:
        """The error of the run."""


_R = TypeVar("_R", bound=QuestionResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Generic[_R]):
    """A file of questions, and how they are answered.

    Attributes:
        questions: the file.
        output: the file that answers are added to.
        answer: asks a question.
        record: makes the line of a result.
        files: where attached files are. Default: where the questions are.
        concurrency: how many run at a time.
        redo_failed: whether questions that were not answered are asked again.
    """

    questions: Path
    output: Path
    answer: Callable[[Task], Awaitable[_R]]
    record: Callable[[_R], Mapping[str, Any]]
    files: Path | None = None
    concurrency: int = 8
    redo_failed: bool = False


def batch_file(batch: Batch[_R], watch: Callable[[Event], object]) -> BatchReport:
    """Works through a batch and waits for it; `watch` is called on this thread.

    Raises:
        ValidationError: as `abatch_file`.
        StateError: as `abatch_file`.
    """
    letters: queue.SimpleQueue[Event | asyncio.Future[BatchReport]] = queue.SimpleQueue()
    tasks: list[asyncio.Future[BatchReport]] = []
    loop = _event_loop.running()

    def begin() -> None:
        task = asyncio.ensure_future(abatch_file(batch, letters.put))
        tasks.append(task)
        task.add_done_callback(letters.put)

    def stop() -> None:
        # By then the batch has begun: what is called on a loop is called in order.
        tasks[0].cancel()

    loop.call_soon_threadsafe(begin)
    try:
        while not isinstance(letter := letters.get(), asyncio.Future):
            watch(letter)
    except BaseException:
        loop.call_soon_threadsafe(stop)
        # A second Ctrl-C does not wait for what is finished to be written.
        while not isinstance(letters.get(), asyncio.Future):
            pass
        raise
    return letter.result()


async def abatch_file(batch: Batch[_R], watch: Callable[[Event], object]) -> BatchReport:
    """Works through a batch on the caller's event loop.

    Args:
        batch: the batch.
        watch: called with each event: ``batch_started``, ``torn_line_dropped``,
            ``line_refused``, ``question_finished``.

    Raises:
        ValidationError: the questions cannot be read (``batch_input_unreadable``), the output
            holds something else (``batch_output_invalid``), or `concurrency` is no number
            above 0 (``agent_invalid``). Nothing has been asked.
        StateError: another batch writes to the output (``batch_busy``), it cannot be written
            (``batch_output_failed``), or a store fails.
        AuthError: the model refuses its key: the next question would fare no better.
    """
    read_count(batch.concurrency, "concurrency", "a batch")
    work = _BatchRun(batch)
    # All that touches a file is done here, one after the other.
    with ThreadPoolExecutor(1, "antiphon-batch") as files:
        try:
            await _finish(files, work.open)
            return await work.run(files, EventReporter(watch))
        finally:
            await _finish(files, work.close)


class _BatchRun(Generic[_R]):
    """A running batch."""

    def __init__(self, batch: Batch[_R]) -> None:
        self._batch = batch
        self._open = ExitStack()
        self._counts: Counter[str] = Counter()
        self._problems: list[LineProblem] = []

    def open(self) -> None:
        """Opens all files, and reads the ids in the output."""
        batch = self._batch
        self._seen = self._open.enter_context(SeenIds())
        folder = batch.files or batch.questions.parent
        reader = QuestionReader(batch.questions, folder, self._seen, redo=batch.redo_failed)
        self._reader = self._open.enter_context(reader)
        _tell_apart(batch)
        self._writer = self._open.enter_context(AnswerWriter(batch.output))
        self._writer.look_through(self._seen)

    def close(self) -> None:
        """Closes all files."""
        self._open.close()

    async def run(self, files: ThreadPoolExecutor, reporter: EventReporter) -> BatchReport:
        """Asks the questions, several at a time."""
        done = self._seen.size(answered=self._batch.redo_failed)
        reporter.report("batch_started", {"lines": self._reader.total, "done": done})
        if self._writer.torn:
            reporter.report("torn_line_dropped", {"bytes": self._writer.torn}, "warning")
        gate = asyncio.Lock()
        workers = [
            asyncio.ensure_future(self._work(files, reporter, gate))
            for _ in range(self._batch.concurrency)
        ]
        try:
            await asyncio.gather(*workers)
        except BaseException:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        return BatchReport(
            output=self._batch.output,
            answered=self._counts["answered"],
            paused=self._counts["paused"],
            failed=self._counts["failed"],
            skipped=self._reader.skipped,
            refused=self._counts["refused"],
            problems=tuple(self._problems),
        )

    async def _work(
        self, files: ThreadPoolExecutor, reporter: EventReporter, gate: asyncio.Lock
    ) -> None:
        while True:
            async with gate:
                found = await _finish(files, self._reader.next)
            if found is None:
                return
            if isinstance(found, AntiphonError):
                self._refuse(found, reporter)
            elif not isinstance(found, str):
                await self._ask(found, files, reporter)

    async def _ask(self, task: Task, files: ThreadPoolExecutor, reporter: EventReporter) -> None:
        try:
            result = await self._batch.answer(task)
        except AntiphonError as error:
            return self._put_off(error, task, reporter)
        if result.error is not None and _is_passing(result.error):
            return self._put_off(result.error, task, reporter)
        record = {"task_id": task.task_id, **self._batch.record(result)}
        await _finish(files, self._writer.write, record)
        kind = result.outcome if result.outcome in {"answered", "paused"} else "failed"
        self._counts[kind] += 1
        fields = {"task_id": task.task_id, "line": task.line, "outcome": result.outcome}
        reporter.report("question_finished", fields)
        return None

    def _put_off(self, error: AntiphonError, task: Task, reporter: EventReporter) -> None:
        """Refuses a question that was not finished; it gets no line."""
        if not error.code.startswith("thread_") and _is_passing(error):
            raise error
        error.details.update({"line": task.line, "task_id": task.task_id})
        self._refuse(error, reporter)

    def _refuse(self, error: AntiphonError, reporter: EventReporter) -> None:
        self._counts["refused"] += 1
        if len(self._problems) == _SHOWN:
            return
        line, task_id = int(error.details["line"]), error.details.get("task_id")
        problem = LineProblem(line, task_id, error.code, error.message)
        self._problems.append(problem)
        fields = {"line": line, "task_id": task_id, "code": error.code, "message": error.message}
        reporter.report("line_refused", fields, "warning")


def _is_passing(error: AntiphonError) -> bool:
    """Whether a store, a thread or a key caused the error, rather than the question."""
    return error.code in _HOPELESS or error.code.startswith(("store_", "thread_"))


def _tell_apart(batch: Batch[Any]) -> None:
    if batch.output.exists() and batch.output.samefile(batch.questions):
        raise ValidationError(
            f"the output of a batch cannot be its input file: {batch.output}",
            code="batch_output_invalid",
            details={"path": str(batch.output)},
        )


_T = TypeVar("_T")


async def _finish(files: ThreadPoolExecutor, work: Callable[..., _T], *given: Any) -> _T:
    """The result of work on files, which is finished even if the wait is cancelled."""
    running = asyncio.get_running_loop().run_in_executor(files, work, *given)
    return await asyncio.shield(running)
