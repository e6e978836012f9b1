"""Writing the answers of a batch, one per line."""

from __future__ import annotations

import io
import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from antiphon._file_lock import try_lock
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from antiphon._batch_file.seen_ids import SeenIds

_HEAD = b'{"task_id": '
"""How each line of ours begins."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a line that could be one of ours."""


class AnswerWriter:
    """Appends lines to a file, each durable before the next.

    Only one process has the file at a time. A torn last line is dropped.

    Attributes:
        torn: bytes of the line that was dropped; 0 if there was none.

    Raises:
        StateError: another batch writes to it (``batch_busy``).
        ValidationError: it cannot be opened (``batch_output_invalid``).
    """

    def __init__(self, path: Path) -> None:
        self.torn = 0
        self._path = path
        self._file = _open(path)
        is_own = False
        try:
            is_own = try_lock(self._file)
        finally:
            if not is_own:
                self._file.close()
        if not is_own:
            raise StateError(
                f"another batch is writing to the output: {path}",
                code="batch_busy",
                details={"path": str(path)},
                hint="wait for it to end, or use another output file",
            )

    def look_through(self, seen: SeenIds) -> None:
        """Records the ids in the file, and repairs its last line.

        Raises:
            ValidationError: a line is no answer (``batch_output_invalid``).
            StateError: as `write`.
        """
        self._file.seek(0)
        reader = io.BufferedReader(self._file, 1024 * 1024)
        number, whole, content = 0, 0, b"\n"
        while content.endswith(b"\n") and (content := reader.readline(_LONGEST)):
            number += 1
            found = _id(content)
            if found is not None:
                whole += len(content)
                seen.settle(*found)
            elif _is_torn(content):
                self.torn = len(content)
            else:
                raise self._foreign(number)
        reader.detach()
        if self.torn:
            self._file.truncate(whole)
        elif content:
            self._append(b"\n")

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends a line, with ``task_id`` first; it is durable on return.

        Raises:
            StateError: there is no room for it, or the disk has failed
                (``batch_output_failed``).
        """
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace")
        self._append(line + b"\n")

    def close(self) -> None:
        """Closes and unlocks the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        end = self._file.seek(0, os.SEEK_END)
        try:
            left = line
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # As far as that goes, no torn line stays behind.
            with suppress(OSError):
                self._file.truncate(end)
            raise StateError(
                f"the output of the batch cannot be written ({error.strerror}): {self._path}",
                code="batch_output_failed",
                details={"path": str(self._path)},
                hint="free some space and start the batch again; it continues where it stopped",
            ) from error

    def _foreign(self, number: int) -> ValidationError:
        return ValidationError(
            f"line {number} of the output is not an answer of a batch: {self._path}",
            code="batch_output_invalid",
            details={"path": str(self._path), "line": number},
            hint="use a separate output file",
        )


def _open(path: Path) -> io.FileIO:
    try:
        is_new = not path.exists()
        if not is_new and not stat.S_ISREG(path.stat().st_mode):
            reason = "it is no file"
        else:
            file = io.FileIO(path, "a+")
            if is_new:
                _settle(path.parent)
            return file
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
    raise ValidationError(
        f"the output of the batch cannot be opened ({reason}): {path}",
        code="batch_output_invalid",
        details={"path": str(path)},
    )


def _settle(folder: Path) -> None:
    """Makes the name of a new file durable, where folders can be synced."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _is_torn(content: bytes) -> bool:
    """Whether a line may be a torn answer; other files stay as they are."""
    if content.endswith(b"\n"):
        return False
    started = content.startswith(_HEAD) or _HEAD.startswith(content)
    # A disk that has lost its power may leave zeros.
    return started or not content.strip(b"\0")


def _id(content: bytes) -> tuple[str, str] | None:
    """The id of a line and its outcome; ``None`` if the line is no answer."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not isinstance(given.get("task_id"), str):
        return None
    return given["task_id"], str(given.get("outcome"))
