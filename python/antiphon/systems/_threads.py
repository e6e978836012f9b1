"""The threads in which the questions of a system are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from antiphon._antiphon import ThreadRef
from antiphon._thread_store import Durability, fresh_name, saver_of, thread_name
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._batch_file import Task

__all__ = ["Threads", "thread_of"]


class Threads:
    """Threads of a store, if there is one.

    Args:
        checkpointer: the store.
        durability: when what happens there is safe.

    Raises:
        ValidationError: the checkpointer is neither a saver nor the URL of one, or the
            durability is unknown, or means nothing without a checkpointer
            (``system_setting_invalid``).
    """

    def __init__(self, checkpointer: Any, durability: Any) -> None:
        if durability not in get_args(Durability):
            raise _refused(f"`durability` is sync, async or exit, found: {durability!r}")
        try:
            self._saver = saver_of(checkpointer)
        except (TypeError, ValueError) as error:
            if isinstance(error, AntiphonError):
                raise
            raise _refused(str(error)) from None
        if self._saver is None and durability != "async":
            raise _refused(f"`durability` means nothing without a `checkpointer`: {durability}")
        self._durability = durability

    def put(self, thread: str | None) -> dict[str, Any]:
        """How the engine keeps a new question: in that thread, or in one of its own.

        Raises:
            ValidationError: there is no store (``thread_unkept``), or no thread can have
                that name (``thread_invalid``).
        """
        if thread is not None:
            return self._named(thread)
        if self._saver is None:
            return {}
        run_id = fresh_name()
        return {**self._named(run_id), "run_id": run_id}

    def task(self, task: Task) -> dict[str, Any]:
        """How the engine keeps a question of a file: it goes on where it was."""
        if self._saver is None:
            return {}
        return {**self._named(task.task_id), "how": "again" if task.again else "once"}

    def old(self, thread: str) -> dict[str, Any]:
        """How the engine goes on with the question in a thread.

        Raises:
            ValidationError: as `put`.
        """
        return {**self._named(thread), "how": "resume"}

    def _named(self, thread: str) -> dict[str, Any]:
        name = thread_name(thread)
        if self._saver is None:
            raise ValidationError(
                f"there is no checkpointer to keep a thread in: {name}",
                code="thread_unkept",
                hint='add one: `checkpointer="sqlite:runs.db"`',
            )
        return {"thread": ThreadRef(self._saver, name, durability=self._durability)}


def thread_of(put: Mapping[str, Any]) -> str | None:
    """The thread that a question was put in."""
    thread = put.get("thread")
    return None if thread is None else str(thread.thread)


def _refused(message: str) -> ValidationError:
    return ValidationError(message, code="system_setting_invalid")
