"""Where the questions of a system are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from antiphon._antiphon import Place
from antiphon._thread import fresh_name, thread_name
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.checkpoint import Saver

__all__ = ["Durability", "Places", "thread_of"]

Durability = Literal["sync", "async", "exit"]
"""When what happened is safe."""


class Places:
    """Threads of a store, if there is one.

    Args:
        saver: the store.
        durability: when what happens there is safe.

    Raises:
        ValidationError: the durability is none (``system_setting_invalid``).
    """

    def __init__(self, saver: Saver | None, durability: Durability | None) -> None:
        if durability not in (None, *get_args(Durability)):
            raise ValidationError(
                f"`durability` is sync, async or exit, found: {durability}",
                code="system_setting_invalid",
            )
        if durability is not None and saver is None:
            raise ValidationError(
                f"`durability` needs a checkpointer, and there is none: {durability}",
                code="system_setting_invalid",
                hint="pass `checkpointer`, for instance `sqlite:runs.db`",
            )
        self._saver = saver
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

    def old(self, thread: str) -> dict[str, Any]:
        """How the engine goes on with the question in a thread.

        Raises:
            ValidationError: as `put`.
        """
        return {**self._named(thread), "how": "resume"}

    def _named(self, thread: Any) -> dict[str, Any]:
        thread = thread_name(thread)
        if self._saver is None:
            raise ValidationError(
                f"there is no checkpointer to keep the thread in: {thread}",
                code="thread_unkept",
                details={"thread": thread},
                hint="pass `checkpointer`, for instance `sqlite:runs.db`",
            )
        return {"place": Place(self._saver, thread, durability=self._durability)}


def thread_of(put: Mapping[str, Any]) -> str | None:
    """The thread that a question was put in."""
    place = put.get("place")
    return None if place is None else str(place.thread)
