"""One job in one Monty session, driven from host call to host call."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.sandbox._deadline import JobEnded
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._host_calls import CallFailed, timed_call
from antiphon.sandbox._monty.faults import fault_of
from antiphon.sandbox._monty.progress import Flood
from antiphon.sandbox._monty.values import decode_reply, encode_output, locals_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.sandbox._deadline import Deadline
    from antiphon.sandbox._monty.progress import Progress

__all__ = ["JobDriver", "Paused", "raised"]

_ENDED = {
    "cancelled": "the caller cancelled",
    "time_limit": "it took longer than {:g} s",
    "output_limit": "it wrote far more than its limit",
}
_ARGUMENTS = 2**20
_NAMES = 200
_TEXT = 1_000
_NAME_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """A job that waits for the result of a call.

    Attributes:
        dump: Monty's snapshot of the interpreter.
        name: the function that the code called.
        args: its positional arguments, tagged.
        kwargs: its keyword arguments, tagged.
        progress: the state of the job.
    """

    dump: bytes
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    progress: Progress


class _TooManyCalls(Exception):
    """More calls of host functions than the limits allow."""


class _Unsupported(Exception):
    """The code uses a feature that this engine does not support."""


class JobDriver:
    """Drives a job to its end, or to its next call if it pauses there.

    Args:
        progress: the state of the job; updated.
        call: calls a host function; ``None`` to pause at each call.
        deadline: kills the worker at the deadline.
        session: the Monty session, for reading the variables after the end. This works too for
            a session that was restored from a snapshot in the middle of a feed.
    """

    def __init__(
        self,
        progress: Progress,
        call: Callable[[str, list[Any], dict[str, Any]], Any] | None,
        deadline: Deadline,
        session: Any,
    ) -> None:
        self._progress, self._call, self._deadline, self._session = (
            progress,
            call,
            deadline,
            session,
        )
        self._since = time.monotonic()
        self._failure: str | None = None

    def drive(
        self, advance: Callable[[Callable[[str, str], None]], Any]
    ) -> dict[str, Any] | Paused:
        """Run to the end, or to a call at which the job pauses.

        Args:
            advance: starts the job, or answers the call at which it paused; takes the receiver of
                output and returns the next snapshot.

        Returns:
            The outcome in the engines' form, or the pause.
        """
        try:
            value = self._finished(advance)
        except Exception as error:  # noqa: BLE001 - `_fault` classifies it
            return self._outcome({"error": self._fault(error)})
        if isinstance(value, Paused):
            self._progress.spent += time.monotonic() - self._since
            return value
        return self._outcome(self._gathered(value))

    def _finished(self, advance: Callable[[Callable[[str, str], None]], Any]) -> Any:
        import pydantic_monty as monty

        snapshot = advance(self._print)
        while not isinstance(snapshot, monty.MontyComplete):
            if self._deadline.ended is not None:
                raise JobEnded(self._deadline.ended)
            if isinstance(snapshot, monty.NameLookupSnapshot):
                snapshot = self._named(snapshot)
            elif isinstance(snapshot, monty.FunctionSnapshot):
                snapshot = self._called(snapshot)
                if isinstance(snapshot, Paused):
                    return snapshot
            else:
                raise _Unsupported("the code waits for an event that cannot occur")
        return snapshot.output

    def _print(self, stream: str, text: str) -> None:
        try:
            self._progress.print(stream, text)
        except Flood:
            # The worker alone would continue to write until its deadline.
            self._deadline.end("output_limit")
            raise

    def _named(self, snapshot: Any) -> Any:
        name = snapshot.variable_name
        if snapshot.object_id is None and name in self._progress.functions:
            return snapshot.resume(value=_stub(name))
        return snapshot.resume()

    def _called(self, snapshot: Any) -> Any:
        """Answer a call; functions that are not granted arrive here too, without a look-up."""
        name = snapshot.function_name
        if snapshot.is_os_function:
            # Monty allows only mounted files and its own modules.
            return snapshot.resume_auto()
        if snapshot.object_id is not None or name not in self._progress.functions:
            refusal = {"exc_type": "NameError", "message": f"name {name!r} is not defined"}
            return snapshot.resume(refusal)
        self._progress.calls += 1
        if self._progress.calls > self._progress.limits["host_calls"]:
            raise _TooManyCalls(f"more than {self._progress.limits['host_calls']} calls")
        try:
            args = encode_output(list(snapshot.args), _ARGUMENTS)
            kwargs = encode_output(dict(snapshot.kwargs), _ARGUMENTS)
        except TooLarge as problem:
            return snapshot.resume(raised("ValueError", f"the arguments are too large: {problem}"))
        if self._call is None:
            return Paused(
                dump=snapshot.dump(), name=name, args=args, kwargs=kwargs, progress=self._progress
            )
        return snapshot.resume(self._answer(self._call, name, args, kwargs))

    def _answer(
        self, call: Callable[..., Any], name: str, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        try:
            tagged = timed_call(lambda: call(name, args, kwargs), self._deadline)
            return {"return_value": decode_reply(tagged)}
        except JobEnded:
            raise
        except Exception as error:  # noqa: BLE001 - reported to the guest
            failure = error if isinstance(error, CallFailed) else CallFailed.of(error)
            self._failure = str(failure)
            return raised("RuntimeError", self._failure)

    def _gathered(self, value: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        limits, want = self._progress.limits, self._progress.want
        if "value" in want:
            try:
                found["value"] = encode_output(value, limits["value"])
            except TooLarge as problem:
                found["value_error"] = {"kind": "result_too_large", "message": str(problem)}
        if "locals" in want:
            try:
                found.update(self._locals(limits["locals"]))
            except Exception as error:  # noqa: BLE001 - `_fault` classifies it
                fault = self._fault(error)
                # The code may have redefined `locals`.
                cut = self._deadline.ended is not None
                found |= {"error": fault} if cut else {"local_errors": {"locals": fault}}
        return found

    def _locals(self, total: int) -> dict[str, Any]:
        names, errors = locals_of(
            self._session.feed_run("locals()"),
            self._progress.inputs,
            total=total,
            each=min(_NAME_BYTES, total),
            most=_NAMES,
        )
        told = {
            name: {"kind": "result_too_large", "message": text} for name, text in errors.items()
        }
        return {"locals": names, "local_errors": told}

    def _fault(self, error: Exception) -> dict[str, Any]:
        """Classify an error; the host's own knowledge precedes the worker's report."""
        import pydantic_monty as monty

        wall = self._progress.limits["wall"]
        if self._deadline.ended is not None:
            kind, message = self._deadline.ended, _ENDED[self._deadline.ended].format(wall)
        elif isinstance(error, _TooManyCalls):
            kind, message = "host_call_limit", str(error)
        elif isinstance(error, _Unsupported):
            kind, message = "unsupported", str(error)
        elif isinstance(error, monty.MontyError):
            return self._attributed(fault_of(error, wall=wall))
        else:
            kind, message = "crashed", f"{type(error).__name__}: {error}"[:_TEXT]
        return {"kind": kind, "message": message}

    def _attributed(self, fault: dict[str, Any]) -> dict[str, Any]:
        """Mark the uncaught failure of a host function as such."""
        if fault.get("type") == "RuntimeError" and fault["message"] == self._failure:
            fault["kind"] = "host_call_failed"
        return fault

    def _outcome(self, found: dict[str, Any]) -> dict[str, Any]:
        progress = self._progress
        progress.spent += time.monotonic() - self._since
        usage = {"wall": progress.spent, "host_calls": progress.calls}
        return {
            "locals": {},
            "local_errors": {},
            "tables": [],
            "figures": [],
            "error": None,
            **found,
            **progress.streams,
            "truncated": progress.truncated,
            "usage": {"cpu": 0.0, "memory": 0, **usage},
        }


def _stub(name: str) -> Any:
    """Return the value of a granted name; Monty reports a call of it by that name."""

    def stub(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"a host function was called outside the sandbox: {name}")

    stub.__name__ = stub.__qualname__ = name
    return stub


def raised(kind: str, message: str) -> dict[str, str]:
    """Build the answer to a call that raises an exception in the guest."""
    return {"exc_type": kind, "message": message}
