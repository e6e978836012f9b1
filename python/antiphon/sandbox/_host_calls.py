"""Calls of host functions by a job, for the engines in Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from antiphon._text import well_formed
from antiphon.errors import AntiphonError
from antiphon.sandbox._deadline import JobEnded

if TYPE_CHECKING:
    from antiphon.sandbox._deadline import Deadline

__all__ = ["CALL_SECONDS", "CallFailed", "JobCalls"]

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


class JobCalls:
    """The calls of host functions that one job makes.

    Args:
        call: calls a function by name with tagged arguments.
        deadline: the job's; a call that outlives it is abandoned.
        limit: most calls.
        made: number of calls before the job was paused.

    Attributes:
        made: number of calls.
    """

    def __init__(self, call: Any, deadline: Deadline, *, limit: int, made: int = 0) -> None:
        self.made = made
        self._call, self._deadline, self._limit = call, deadline, limit
        self._failure: str | None = None

    def count(self) -> None:
        """Count a call; one too many ends the job.

        Raises:
            JobEnded: the job has ended.
        """
        self.made += 1
        if self.made > self._limit:
            self._deadline.end("host_call_limit")
            raise JobEnded("host_call_limit")

    def make(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function on a separate thread, within the time limits of job and call.

        Raises:
            CallFailed: it failed or timed out.
            JobEnded: the job has ended.
        """
        done = threading.Event()
        found: list[Any] = []
        raised: list[BaseException] = []

        def serve() -> None:
            try:
                found.append(self._call(name, args, kwargs))
            except BaseException as error:  # noqa: BLE001 - reported to the guest
                raised.append(error)
            done.set()

        threading.Thread(target=serve, name="antiphon-host-call", daemon=True).start()
        if not self._deadline.wait(done, CALL_SECONDS):
            error: BaseException = TimeoutError(f"it took longer than {CALL_SECONDS:.0f} s")
        elif raised:
            error = raised[0]
        else:
            return found[0]
        failure = error if isinstance(error, CallFailed) else CallFailed.of(error)
        self._failure = str(failure)
        raise failure

    def attribute(self, fault: dict[str, Any], type: str) -> None:  # noqa: A002 - as in a fault
        """Mark a fault that is the uncaught failure of a host function, which raised `type`."""
        if fault.get("type") == type and fault["message"] == self._failure:
            fault["kind"] = "host_call_failed"
