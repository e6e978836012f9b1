"""Reading the questions of a batch, one per line."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

from antiphon._text import well_formed
from antiphon._thread_store import thread_name
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon._batch_file.seen_ids import SeenIds

_LONGEST = 1024 * 1024
"""Bytes of a line; questions with their ids are far shorter."""
_MANY = 1_000
"""Lines that may be skipped in one call."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question with an id.

    Attributes:
        line: the number of its line, from 1.
        task_id: its id, which is also the name of its thread.
        question: the question.
        file: the attached file.
        again: whether to ask again although the thread holds an answer.
    """

    line: int
    task_id: str
    question: str
    file: Path | None = None
    again: bool = False


class QuestionReader:
    """Reads questions one at a time, so that the file may be of any size.

    Attributes:
        total: lines of the file.
        skipped: questions that were done before.

    Raises:
        ValidationError: the file cannot be read (``batch_input_unreadable``).
    """

    def __init__(self, path: Path, folder: Path, seen: SeenIds, *, redo: bool) -> None:
        self.path = path
        self.skipped = 0
        self._folder = folder
        self._seen = seen
        self._redo = redo
        self._file = open_questions(path)
        self._lines = self._read()
        self.total = sum(1 for _ in self._contents())
        self._file.seek(0)

    def next(self) -> Task | ValidationError | Literal["skipped"] | None:
        """The next question, or the error of an invalid line; ``None`` at the end.

        It returns ``skipped`` now and then, so that a call never takes long.
        """
        return next(self._lines, None)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read(self) -> Iterator[Task | ValidationError | Literal["skipped"]]:
        for line, content in enumerate(self._contents(), 1):
            if content is not None and not content.strip():
                continue
            try:
                task = self._parse_line(line, content)
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

    def _parse_line(self, line: int, content: bytes | None) -> Task | None:
        """The question of a line; ``None`` if it is done."""
        if content is None:
            raise ValidationError(
                f"line {line} is longer than 1 MiB: {self.path}", code="batch_line_invalid"
            )
        task = _read_task(line, content, self._folder)
        first = self._seen.meet(task.task_id, line)
        if first is not None:
            raise ValidationError(
                f"line {line} has the same `task_id` as line {first}: {task.task_id}",
                code="task_id_duplicate",
                details={"task_id": task.task_id, "first": first},
            )
        outcome = self._seen.outcome(task.task_id)
        if outcome is None:
            return task
        if not self._redo or outcome == "answered":
            return None
        # A person may have answered a paused question in its thread since.
        return task if outcome == "paused" else replace(task, again=True)

    def _contents(self) -> Iterator[bytes | None]:
        """Each line; ``None`` in place of one that is too long for memory."""
        while content := self._file.readline(_LONGEST + 1):
            if len(content) <= _LONGEST:
                yield content
                continue
            while content and not content.endswith(b"\n"):
                content = self._file.readline(_LONGEST)
            yield None


def open_questions(path: Path) -> BinaryIO:
    """Opens the file of questions.

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


def _read_task(line: int, content: bytes, folder: Path) -> Task:
    """The question of a line.

    Raises:
        ValidationError: the line is invalid (``batch_line_invalid``, ``task_id_invalid``,
            ``question_malformed``, ``question_blank``, ``attachment_outside``); the details
            have the ``task_id`` if there is one.
    """
    given = _object(line, content)
    task_id = _id(line, given.get("task_id"))
    about = {"task_id": task_id}
    question = given.get("question")
    if not isinstance(question, str):
        raise ValidationError(
            f"`question` of line {line} must be a string: {type(question).__name__}",
            code="question_malformed",
            details=about,
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"`question` of line {line} contains an unpaired surrogate: {question[:80]!r}",
            code="question_malformed",
            details=about,
        )
    if not question.strip():
        raise ValidationError(
            f"`question` of line {line} is blank: {question[:80]!r}",
            code="question_blank",
            details=about,
        )
    name = given.get("file_name")
    file = None if name in (None, "") else _inside(folder, name)
    if file is None and name not in (None, ""):
        raise ValidationError(
            f"`file_name` of line {line} is not inside the folder of files: {name!r:.80}",
            code="attachment_outside",
            details=about,
        )
    return Task(line, task_id, question, file)


def _object(line: int, content: bytes) -> dict[str, Any]:
    try:
        given = json.loads(content.decode("utf-8-sig" if line == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        problem = f"line {line} is not UTF-8, from byte: {error.start}"
    except json.JSONDecodeError as error:
        problem = f"line {line} is no JSON, from character: {error.pos}"
    except (RecursionError, ValueError):  # too deep, or a number of thousands of digits
        problem = f"line {line} is no JSON that can be read, bytes: {len(content)}"
    else:
        if isinstance(given, dict):
            return given
        problem = f"line {line} must be a JSON object: {type(given).__name__}"
    raise ValidationError(problem, code="batch_line_invalid")


def _id(line: int, given: Any) -> str:
    if given is None:
        raise ValidationError(f"line {line} has no `task_id`: {given}", code="task_id_invalid")
    try:
        return thread_name(given)
    except ValidationError as error:
        # What no thread can be called is no id.
        message = error.message.replace("a thread's name", f"`task_id` of line {line}")
        raise ValidationError(message, code="task_id_invalid") from None


def _inside(folder: Path, name: Any) -> Path | None:
    """A file within the folder; ``None`` for any other, because lines are untrusted."""
    if not isinstance(name, str) or "\0" in name or Path(name).is_absolute():
        return None
    try:
        is_inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or half a character
        return None
    return folder / name if is_inside else None
