"""The file that questions come from, line by line."""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Literal, Self

from antiphon._lines.task import read_task
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from antiphon._lines.ledger import Ledger
    from antiphon._lines.task import Task

    _Found = Task | ValidationError | Literal["skipped"]

__all__ = ["Source", "open_questions"]

_LONGEST = 1024 * 1024
"""Bytes of a line: more than a question and its id ever take."""
_MANY = 1_000
"""Lines that may be skipped in one go."""


class Source:
    """Reads questions one at a time, so that a file may have any number of them.

    Args:
        path: the file.
        folder: where attached files are.
        ledger: the ids that the output has.
        redo: whether questions that were not answered are to be asked again.

    Attributes:
        total: lines of the file.
        skipped: questions that were done before.

    Raises:
        ValidationError: it cannot be read (``batch_input_unreadable``).
    """

    def __init__(self, path: Path, folder: Path, ledger: Ledger, *, redo: bool) -> None:
        self.path = path
        self.skipped = 0
        self._folder = folder
        self._ledger = ledger
        self._redo = redo
        self._file = open_questions(path)
        self._lines = self._read()
        self.total = sum(1 for _ in self._contents())
        self._file.seek(0)

    def next(self) -> _Found | None:
        """The next question that is to be asked, or why a line is none; nothing at the end.

        Now and then it says that lines were skipped, so that nobody waits long for it.
        """
        return next(self._lines, None)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read(self) -> Iterator[_Found]:
        for line, content in enumerate(self._contents(), 1):
            if content is not None and not content.strip():
                continue
            try:
                task = self._wanted(line, content)
            except ValidationError as error:
                error.details["line"] = line
                yield error
                continue
            if task is not None:
                yield task
                continue
            self.skipped += 1
            if self.skipped % _MANY == 0:
                yield "skipped"

    def _wanted(self, line: int, content: bytes | None) -> Task | None:
        """The question of a line; none if it is done."""
        if content is None:
            raise ValidationError(
                f"line {line} is longer than 1 MiB: {self.path}", code="batch_line_invalid"
            )
        task = read_task(line, content, self._folder)
        first = self._ledger.meet(task.task_id, line)
        if first is not None:
            raise ValidationError(
                f"`task_id` of line {line} is that of line {first} too: {task.task_id}",
                code="task_id_duplicate",
                details={"task_id": task.task_id, "first": first},
            )
        answered = self._ledger.outcome(task.task_id)
        if answered is None:
            return task
        return replace(task, again=True) if self._redo and not answered else None

    def _contents(self) -> Iterator[bytes | None]:
        """Each line; none for one that is too long, which is not kept in memory."""
        while content := self._file.readline(_LONGEST + 1):
            if len(content) <= _LONGEST:
                yield content
                continue
            while content and not content.endswith(b"\n"):
                content = self._file.readline(_LONGEST)
            yield None


def open_questions(path: Path) -> BinaryIO:
    """The file of questions.

    Raises:
        ValidationError: it cannot be read (``batch_input_unreadable``).
    """
    try:
        file = path.open("rb")
        if stat.S_ISREG(path.stat().st_mode):
            return file
        file.close()
        reason = "it is no file"
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
    raise ValidationError(
        f"the questions of a batch cannot be read ({reason}): {path}",
        code="batch_input_unreadable",
        details={"path": str(path)},
    )
