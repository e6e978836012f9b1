"""Lists and files of questions, for systems that answer one question at a time."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from antiphon._batch_file import Batch, BatchProgress, abatch_file, batch_file
from antiphon._event_loop import run_blocking
from antiphon._keywords import CheckedKeywords
from antiphon._roles import ask_all
from antiphon._watch.watcher import watching
from antiphon.errors import ValidationError
from antiphon.systems.result import SystemResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from antiphon._batch_file import BatchReport, Task
    from antiphon._watch.watcher import Watch
    from antiphon.event import Event

__all__ = ["Batches"]

_R = TypeVar("_R", bound=SystemResult)
_PathGiven = str | os.PathLike[str]


class Batches(CheckedKeywords, Generic[_R]):
    """Answers the questions of a list, or those of a file, with the answers in another file."""

    if TYPE_CHECKING:

        @property
        def _label(self) -> str:
            """What the progress bar says."""

        async def arun(self, question: str, *data: Any, **options: Any) -> _R:
            """Answers a question."""

        async def _settle(self, task: Task, context: Any) -> _R:
            """Answers a question of a file, or resumes it."""

    def batch(
        self,
        questions: Iterable[str],
        *,
        concurrency: int = 8,
        context: Any = None,
        watch: Watch = None,
    ) -> list[_R]:
        """Answer several questions, with a progress bar on a terminal or in a notebook.

        Args:
            questions: the questions.
            concurrency: how many run at a time. Default: 8.
            context: for all questions, as in `run`.
            watch: as in `run`; it receives the events of all questions, one after the other.

        Returns:
            The results, in the order of the questions.

        Raises:
            ValidationError: a question is blank (``question_blank``), or there is a single text
                instead of a list (``input_invalid``); none has been asked.
        """
        asked = self.abatch(questions, concurrency=concurrency, context=context, watch=watch)
        return run_blocking(asked)  # type: ignore[no-any-return]

    async def abatch(
        self,
        questions: Iterable[str],
        *,
        concurrency: int = 8,
        context: Any = None,
        watch: Watch = None,
    ) -> list[_R]:
        """`batch` on the caller's event loop.

        Args:
            questions: as in `batch`.
            concurrency: as in `batch`.
            context: as in `batch`.
            watch: as in `batch`.
        """
        with watching(watch) as show:
            ask = functools.partial(self.arun, context=context, watch=show)
            return await ask_all(ask, questions, concurrency=concurrency, label=self._label)

    def batch_file(
        self,
        questions: _PathGiven,
        output: _PathGiven,
        *,
        files: _PathGiven | None = None,
        concurrency: int = 8,
        redo_failed: bool = False,
        watch: Callable[[Event], None] | None = None,
        context: Any = None,
    ) -> BatchReport:
        """Answer the questions of a file, with a progress bar on a terminal or in a notebook.

        Each line is a JSON object with ``task_id``, ``question`` and, for an attached file,
        ``file_name``; blank lines and other fields are ignored. When a question ends, a line
        with its ``task_id``, ``model_answer``, ``reasoning_trace``, ``outcome`` and more is
        appended to the output for every outcome. A batch that is started again with the
        same output skips the questions answered there; with a checkpointer it also resumes
        unfinished questions, each in the thread of its id. Ctrl-C stops the batch; finished
        answers stay.

        A question that pauses for a person gets a line with the outcome ``paused`` and its
        ``questions``. `resume` answers it in the thread of its id; then `redo_failed` appends the
        line with the answer. Without a checkpointer it cannot be answered. A line whose question
        has changed meanwhile is refused (``thread_paused``): the open question would be lost.

        An invalid line is reported in `BatchReport.problems` and gets no line in the output.

        Args:
            questions: the file of questions.
            output: the file of answers; created if it does not exist.
            files: the folder of attached files. Default: that of the questions.
            concurrency: the number of concurrent questions. Default: 8.
            redo_failed: whether to ask unanswered questions of the output again, and to continue
                paused ones. Default: no.
            watch: a function, called on this thread with the events of the batch, not of its
                questions: ``batch_started``, ``torn_line_dropped``, ``line_refused``,
                ``question_finished``. An exception that it raises ends the batch.
            context: for all questions, as in `System.run`.

        Raises:
            ValidationError: the questions cannot be read (``batch_input_unreadable``), the
                output contains other lines (``batch_output_invalid``), `concurrency` is not an
                integer of at least 1 (``agent_invalid``), or `watch` is no function
                (``input_invalid``). Nothing has been asked.
            StateError: another batch is writing to the output (``batch_busy``), the output
                cannot be written (``batch_output_failed``), or the store of the threads fails.
            AuthError: the provider refuses the key of the model; the batch ends.
        """
        settle = functools.partial(self._settle, context=context)
        batch = _batch((questions, output, files), settle, concurrency, redo_failed=redo_failed)
        with BatchProgress(self._label, watch) as shown:
            return batch_file(batch, shown)

    async def abatch_file(
        self,
        questions: _PathGiven,
        output: _PathGiven,
        *,
        files: _PathGiven | None = None,
        concurrency: int = 8,
        redo_failed: bool = False,
        watch: Callable[[Event], None] | None = None,
        context: Any = None,
    ) -> BatchReport:
        """`batch_file` on the caller's event loop.

        Args:
            questions: as in `batch_file`.
            output: as in `batch_file`.
            files: as in `batch_file`.
            concurrency: as in `batch_file`.
            redo_failed: as in `batch_file`.
            watch: as in `batch_file`.
            context: as in `batch_file`.

        Raises:
            ValidationError: as in `batch_file`.
            StateError: as in `batch_file`.
            AuthError: as in `batch_file`.
        """
        settle = functools.partial(self._settle, context=context)
        batch = _batch((questions, output, files), settle, concurrency, redo_failed=redo_failed)
        with BatchProgress(self._label, watch) as shown:
            return await abatch_file(batch, shown)


def _batch(
    paths: tuple[_PathGiven, _PathGiven, _PathGiven | None],
    settle: Callable[[Task], Awaitable[_R]],
    concurrency: int,
    *,
    redo_failed: bool,
) -> Batch[_R]:
    questions, output, files = paths
    return Batch(
        questions=_path("questions", questions, "batch_input_unreadable"),
        output=_path("output", output, "batch_output_invalid"),
        answer=settle,
        record=_record,
        files=None if files is None else _path("files", files, "batch_input_unreadable"),
        concurrency=concurrency,
        redo_failed=redo_failed,
    )


def _path(name: str, given: Any, code: str) -> Path:
    if isinstance(given, str | os.PathLike):
        return Path(given)
    raise ValidationError(
        f"`{name}` of a batch file must be a path: {type(given).__name__}",
        code=code,
        hint="`batch` takes a list of questions" if name == "questions" else None,
    )


def _record(result: SystemResult) -> dict[str, Any]:
    """A line of the output."""
    return result.record()
