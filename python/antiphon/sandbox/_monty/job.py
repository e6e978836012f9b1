"""Jobs in a Monty session: each is driven from host call to host call."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from antiphon.sandbox._deadline import ENDING, Deadline, JobEnded, ended_fault, process_killer
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._guest.decode import MalformedValue
from antiphon.sandbox._host_calls import CallFailed, JobCalls
from antiphon.sandbox._monty.faults import fault_of
from antiphon.sandbox._monty.progress import JobProgress, OutputFlood, PausedJob
from antiphon.sandbox._monty.values import decode_inputs, decode_reply, encode_output, locals_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import CancellationToken

    _Advance = Callable[[Callable[[str, str], None]], Any]
    """Starts a job, or answers the call at which it paused; takes the receiver of output, and
    returns the next snapshot."""

__all__ = ["ISOLATION", "Worker"]

ISOLATION = "interpreter+process"
_GRACE = 0.05
"""Seconds after the time limit before a worker is killed; normally it ends by itself."""
_ARGUMENTS = 2**20
_NAMES = 200
_TEXT = 1_000
_NAME_BYTES = 64 * 2**10


class Worker:
    """A worker process of Monty that runs jobs one after the other.

    Args:
        session: a Monty session with a worker.
        limits: all limits.
        mounts: the folders that jobs can read.
        start: the origin of the worker, for the usage.

    Attributes:
        alive: whether it can run another job.
    """

    def __init__(
        self, session: Any, limits: dict[str, Any], mounts: Sequence[Any], start: str
    ) -> None:
        self.alive = True
        self._session, self._limits, self._mounts = session, limits, list(mounts)
        self._start = start

    def run(
        self,
        job: Mapping[str, Any],
        call: Any,
        cancel: CancellationToken | None,
        *,
        pauses: bool = False,
    ) -> Any:
        """Run a job.

        Returns:
            The outcome in the engines' form; with `pauses` perhaps a `PausedJob` at a call.
        """
        progress = JobProgress(
            limits=self._limits,
            functions=[function["name"] for function in job["functions"]],
            inputs=dict(job["inputs"]),
            want=list(job["want"]),
        )

        def begin(receive: Callable[[str, str], None]) -> Any:
            inputs = decode_inputs(job["inputs"])
            return self._session.feed_start(
                job["code"], inputs=inputs, print_callback=receive, mount=self._mounts
            )

        return self._drive(progress, begin, None if pauses else call, cancel, pauses=pauses)

    def resume(
        self, paused: PausedJob, reply: Mapping[str, Any], cancel: CancellationToken | None
    ) -> Any:
        """Answer the call at which a job is paused, and run to its end or its next call.

        Args:
            paused: the job; its snapshot is authenticated.
            reply: ``{"value": tagged}``, or ``{"error": {"type": …, "message": …}}``.
            cancel: the caller's token.
        """

        def answer(receive: Callable[[str, str], None]) -> Any:
            snapshot = self._session.load_snapshot(
                paused.dump, mount=self._mounts, print_callback=receive
            )
            # The tools of this process apply, not those of the process that saved it.
            name = getattr(snapshot, "function_name", None)
            if name not in paused.progress.functions or snapshot.object_id is not None:
                raise MalformedValue("the snapshot does not wait for a granted function")
            if "error" in reply:
                failure = f"{reply['error']['type']}: {reply['error']['message']}"
                return snapshot.resume(_raise_in_guest("RuntimeError", failure))
            return snapshot.resume({"return_value": decode_reply(reply["value"])})

        return self._drive(paused.progress, answer, None, cancel, pauses=True)

    def _drive(
        self,
        progress: JobProgress,
        advance: _Advance,
        call: Any,
        cancel: CancellationToken | None,
        *,
        pauses: bool,
    ) -> Any:
        kill, forget = process_killer(self._session.worker_pid)
        left = max(0.0, progress.limits["wall"] - progress.spent)
        try:
            with Deadline(left + _GRACE, cancel, kill) as deadline:
                driver = _JobDriver(progress, call, deadline, self._session, pauses=pauses)
                outcome = driver.drive(advance)
            if isinstance(outcome, PausedJob):
                return outcome
            if (outcome["error"] or {}).get("kind") in ENDING:
                self.alive = False
                kill()
        finally:
            forget()
        outcome["usage"]["start"] = self._start
        return outcome


class _JobDriver:
    """Drives a job to its end, or to its next call if it pauses there.

    Args:
        progress: the state of the job; updated.
        call: calls a host function.
        deadline: kills the worker at the deadline.
        session: the Monty session, for reading the variables after the end. This works too for
            a session that was restored from a snapshot in the middle of a feed.
        pauses: whether to pause at calls.
    """

    def __init__(
        self, progress: JobProgress, call: Any, deadline: Deadline, session: Any, *, pauses: bool
    ) -> None:
        self._progress, self._deadline, self._session = progress, deadline, session
        self._pauses = pauses
        limit = progress.limits["host_calls"]
        self._calls = JobCalls(call, deadline, limit=limit, made=progress.calls)
        self._since = time.monotonic()

    def drive(self, advance: _Advance) -> dict[str, Any] | PausedJob:
        try:
            value = self._finish(advance)
        except Exception as error:  # noqa: BLE001 - `_fault` classifies it
            return self._outcome({"error": self._fault(error)})
        if isinstance(value, PausedJob):
            self._progress.spent += time.monotonic() - self._since
            return value
        return self._outcome(self._gather(value))

    def _finish(self, advance: _Advance) -> Any:
        import pydantic_monty as monty

        snapshot = advance(self._print)
        while not isinstance(snapshot, monty.MontyComplete):
            if self._deadline.ended is not None:
                raise JobEnded(self._deadline.ended)
            if isinstance(snapshot, monty.NameLookupSnapshot):
                snapshot = self._resolve_name(snapshot)
            elif isinstance(snapshot, monty.FunctionSnapshot):
                snapshot = self._answer_call(snapshot)
                if isinstance(snapshot, PausedJob):
                    return snapshot
            else:
                raise _UnsupportedFeature("the code waits for an event that cannot occur")
        return snapshot.output

    def _print(self, stream: str, text: str) -> None:
        try:
            self._progress.print(stream, text)
        except OutputFlood:
            # The worker alone would continue to write until its deadline.
            self._deadline.end("output_limit")
            raise

    def _resolve_name(self, snapshot: Any) -> Any:
        name = snapshot.variable_name
        if snapshot.object_id is None and name in self._progress.functions:
            return snapshot.resume(value=_stub(name))
        return snapshot.resume()

    def _answer_call(self, snapshot: Any) -> Any:
        """Answer a call; functions that are not granted arrive here too, without a look-up."""
        name = snapshot.function_name
        if snapshot.is_os_function:
            # Monty allows only mounted files and its own modules.
            return snapshot.resume_auto()
        if snapshot.object_id is not None or name not in self._progress.functions:
            return snapshot.resume(_raise_in_guest("NameError", f"name {name!r} is not defined"))
        try:
            self._calls.count()
        finally:
            self._progress.calls = self._calls.made
        try:
            args = encode_output(list(snapshot.args), _ARGUMENTS)
            kwargs = encode_output(dict(snapshot.kwargs), _ARGUMENTS)
        except TooLarge as problem:
            return snapshot.resume(
                _raise_in_guest("ValueError", f"the arguments are too large: {problem}")
            )
        if self._pauses:
            return PausedJob(
                dump=snapshot.dump(), name=name, args=args, kwargs=kwargs, progress=self._progress
            )
        try:
            answer = {"return_value": decode_reply(self._calls.make(name, args, kwargs))}
        except CallFailed as failure:
            answer = _raise_in_guest("RuntimeError", str(failure))
        return snapshot.resume(answer)

    def _gather(self, value: Any) -> dict[str, Any]:
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
        faults = {
            name: {"kind": "result_too_large", "message": text} for name, text in errors.items()
        }
        return {"locals": names, "local_errors": faults}

    def _fault(self, error: Exception) -> dict[str, Any]:
        """Classify an error; the host's own knowledge precedes the worker's report."""
        import pydantic_monty as monty

        wall = self._progress.limits["wall"]
        if self._deadline.ended is not None:
            return ended_fault(self._deadline.ended, wall)
        if isinstance(error, _UnsupportedFeature):
            return {"kind": "unsupported", "message": str(error)}
        if isinstance(error, monty.MontyError):
            fault = fault_of(error, wall=wall)
            self._calls.attribute(fault, "RuntimeError")
            return fault
        return {"kind": "crashed", "message": f"{type(error).__name__}: {error}"[:_TEXT]}

    def _outcome(self, found: dict[str, Any]) -> dict[str, Any]:
        progress = self._progress
        progress.spent += time.monotonic() - self._since
        return {
            "error": None,
            **found,
            **progress.streams,
            "truncated": progress.truncated,
            "usage": {"wall": progress.spent, "host_calls": progress.calls},
            "engine": "monty",
            "isolation": ISOLATION,
        }


class _UnsupportedFeature(Exception):
    """The code uses a feature that this engine does not support."""


def _stub(name: str) -> Any:
    """Return the value of a granted name; Monty reports a call of it by that name."""

    def stub(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"a host function was called outside the sandbox: {name}")

    stub.__name__ = stub.__qualname__ = name
    return stub


def _raise_in_guest(kind: str, message: str) -> dict[str, str]:
    """Build the answer to a call that raises an exception in the guest."""
    return {"exc_type": kind, "message": message}
