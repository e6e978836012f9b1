"""Calls of host functions for engines in Python: each on a thread, none for ever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from antiphon._text import well_formed
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.sandbox._deadline import Deadline

__all__ = ["CALL_SECONDS", "CallFailed", "timed_call"]

CALL_SECONDS = 30.0
"""Longest that one call of a host function may take."""
_WORDS = 2_000
"""Characters of a failure that the guest gets to see."""


class CallFailed(Exception):
    """A host function failed; this is all that the guest may know of it.

    Attributes:
        type: the name of the exception's class.
        message: what it said, in a length that the host chose.
    """

    def __init__(self, type: str, message: str) -> None:  # noqa: A002 - as the wire calls it
        super().__init__(f"{type}: {message}")
        self.type, self.message = type, message

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """What the guest may know of an exception: its class and its words, never its place."""
        message = error.message if isinstance(error, AntiphonError) else str(error)
        return cls(type(error).__name__, well_formed(message)[:_WORDS])


def timed_call(work: Callable[[], Any], deadline: Deadline) -> Any:
    """Does the work on a thread of its own, for as long as the job and one call may take.

    Args:
        work: calls the function.
        deadline: the job's; a call that is still at work when it ends is left alone.

    Returns:
        What the work gave.

    Raises:
        CallFailed: it took too long.
        JobEnded: the job has ended.
        Exception: whatever the work raised.
    """
    done = threading.Event()
    found: list[Any] = []
    raised: list[BaseException] = []

    def serve() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - it is passed on
            raised.append(error)
        done.set()

    threading.Thread(target=serve, name="antiphon-host-call", daemon=True).start()
    if not deadline.wait(done, CALL_SECONDS):
        raise CallFailed("TimeoutError", f"it took longer than {CALL_SECONDS:.0f} s")
    if raised:
        raise raised[0]
    return found[0]
