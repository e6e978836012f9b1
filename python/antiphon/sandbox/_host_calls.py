"""Calls of host functions with time limits, for engines in Python."""

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
"""Time limit of one call of a host function."""
_WORDS = 2_000
"""Characters of a failure that the guest sees."""


class CallFailed(Exception):
    """A host function failed; contains only what the guest may know.

    Attributes:
        type: the name of the exception's class.
        message: its message, truncated.
    """

    def __init__(self, type: str, message: str) -> None:  # noqa: A002 - as the wire calls it
        super().__init__(f"{type}: {message}")
        self.type, self.message = type, message

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Build it from an exception: class and message, without traceback."""
        message = error.message if isinstance(error, AntiphonError) else str(error)
        return cls(type(error).__name__, well_formed(message)[:_WORDS])


def timed_call(work: Callable[[], Any], deadline: Deadline) -> Any:
    """Do work on a thread of its own, within the time limits of the job and of one call.

    Args:
        work: calls the function.
        deadline: the job's; a call that outlives it is abandoned.

    Returns:
        The result of the work.

    Raises:
        CallFailed: the call timed out.
        JobEnded: the job has ended.
        Exception: from the work.
    """
    done = threading.Event()
    found: list[Any] = []
    raised: list[BaseException] = []

    def serve() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            raised.append(error)
        done.set()

    threading.Thread(target=serve, name="antiphon-host-call", daemon=True).start()
    if not deadline.wait(done, CALL_SECONDS):
        raise CallFailed("TimeoutError", f"it took longer than {CALL_SECONDS:.0f} s")
    if raised:
        raise raised[0]
    return found[0]
