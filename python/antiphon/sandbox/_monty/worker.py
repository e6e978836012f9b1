"""A worker process of Monty, with deadlines for its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.sandbox._deadline import Deadline, process_killer
from antiphon.sandbox._guest.decode import Malformed
from antiphon.sandbox._monty.progress import Progress
from antiphon.sandbox._monty.session import JobDriver, Paused, raised
from antiphon.sandbox._monty.values import decode_inputs, decode_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon.sandbox._run_handle import StopSignal

__all__ = ["Worker"]

_GRACE = 0.05
"""Seconds after the time limit before a worker is killed; normally it ends by itself."""
_ENDING = frozenset(
    ["time_limit", "memory_limit", "output_limit", "host_call_limit", "crashed", "cancelled"]
)
"""Failures after which the state of a worker is not trusted any more."""


class Worker:
    """A worker process that runs jobs one after the other.

    Args:
        session: a Monty session with a worker.
        limits: all limits.
        mounts: the folders that jobs can read.

    Attributes:
        alive: whether it can run another job.
    """

    def __init__(self, session: Any, limits: dict[str, Any], mounts: Sequence[Any]) -> None:
        self.alive = True
        self._session, self._limits, self._mounts = session, limits, list(mounts)

    def run(
        self,
        job: Mapping[str, Any],
        call: Callable[[str, list[Any], dict[str, Any]], Any] | None,
        stop: StopSignal | None,
    ) -> dict[str, Any] | Paused:
        """Run a job to its end; without `call` to its first call of a host function."""
        progress = Progress(
            limits=self._limits,
            functions=[function["name"] for function in job["functions"]],
            inputs=dict(job["inputs"]),
            want=list(job["want"]),
        )

        def begin(receive: Callable[[str, str], None]) -> Any:
            inputs = decode_inputs(job["inputs"])
            return self._session.feed_start(
                job["code"],
                inputs=inputs,
                print_callback=receive,
                mount=self._mounts,
            )

        return self._drive(progress, begin, call, stop)

    def resume(
        self, dump: bytes, progress: Progress, reply: Mapping[str, Any], stop: StopSignal | None
    ) -> dict[str, Any] | Paused:
        """Answer the call at which a job is paused, and run to its end or its next call.

        Args:
            dump: from `Paused`; authenticated.
            progress: from `Paused`.
            reply: ``{"value": tagged}``, or ``{"error": {"type": …, "message": …}}``.
            stop: the caller's stop signal.
        """

        def answer(receive: Callable[[str, str], None]) -> Any:
            snapshot = self._session.load_snapshot(dump, mount=self._mounts, print_callback=receive)
            # The tools of this process apply, not those of the process that saved it.
            name = getattr(snapshot, "function_name", None)
            if name not in progress.functions or snapshot.object_id is not None:
                raise Malformed("the snapshot does not wait for a granted function")
            if "error" in reply:
                failure = f"{reply['error']['type']}: {reply['error']['message']}"
                return snapshot.resume(raised("RuntimeError", failure))
            return snapshot.resume({"return_value": decode_reply(reply["value"])})

        return self._drive(progress, answer, None, stop)

    def _drive(
        self,
        progress: Progress,
        advance: Callable[[Callable[[str, str], None]], Any],
        call: Callable[[str, list[Any], dict[str, Any]], Any] | None,
        stop: StopSignal | None,
    ) -> dict[str, Any] | Paused:
        kill, forget = process_killer(self._session.worker_pid)
        left = max(0.0, progress.limits["wall"] - progress.spent)
        try:
            with Deadline(left + _GRACE, stop, kill) as deadline:
                outcome = JobDriver(progress, call, deadline, self._session).drive(advance)
            if not isinstance(outcome, Paused) and (outcome["error"] or {}).get("kind") in _ENDING:
                self.alive = False
                kill()
        finally:
            forget()
        return outcome
