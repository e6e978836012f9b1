"""One line of a batch: a question with an id."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon._text import well_formed
from antiphon._thread_store import thread_name
from antiphon.errors import ValidationError

__all__ = ["Task", "read_task"]


@dataclass(frozen=True, slots=True)
class Task:
    """A question with an id.

    Attributes:
        line: the number of its line, from 1.
        task_id: its id, which is also the name of its thread.
        question: what is asked.
        file: a file that comes with it.
        again: whether an answer that the thread holds does not count.
    """

    line: int
    task_id: str
    question: str
    file: Path | None = None
    again: bool = False


def read_task(line: int, content: bytes, folder: Path) -> Task:
    """The question of a line.

    Args:
        line: its number.
        content: the line itself.
        folder: where attached files are.

    Raises:
        ValidationError: it is none (``batch_line_invalid``, ``task_id_invalid``,
            ``question_malformed``, ``question_blank``, ``attachment_outside``); its details
            have the ``task_id`` if there is one.
    """
    given = _object(line, content)
    task_id = _id(line, given.get("task_id"))
    about = {"task_id": task_id}
    question = given.get("question")
    if not isinstance(question, str):
        raise ValidationError(
            f"`question` of line {line} has to be text: {type(question).__name__}",
            code="question_malformed",
            details=about,
        )
    if well_formed(question) != question:
        raise ValidationError(
            f"`question` of line {line} holds half a character: {question[:80]!r}",
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
            f"`file_name` of line {line} has to name a file in the folder of files: {name!r:.80}",
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
        problem = f"line {line} has to be a JSON object: {type(given).__name__}"
    raise ValidationError(problem, code="batch_line_invalid")


def _id(line: int, given: Any) -> str:
    if given is None:
        raise ValidationError(f"line {line} has no `task_id`: {given}", code="task_id_invalid")
    try:
        return thread_name(given)
    except ValidationError as error:
        # What no thread can be called is no id.
        told = error.message.replace("a thread's name", f"`task_id` of line {line}")
        raise ValidationError(told, code="task_id_invalid") from None


def _inside(folder: Path, name: Any) -> Path | None:
    """A file of that folder: lines may come from anywhere, and reach no other."""
    if not isinstance(name, str) or "\0" in name or Path(name).is_absolute():
        return None
    try:
        is_inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or half a character
        return None
    return folder / name if is_inside else None
