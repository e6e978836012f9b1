"""An interpreter that keeps its variables between runs."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Self

from antiphon.errors import ValidationError
from antiphon.sandbox._job import WANTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from antiphon.sandbox._engine import EngineSession
    from antiphon.sandbox._job import Want
    from antiphon.sandbox._result import SandboxResult
    from antiphon.sandbox._runner import SandboxRunner

__all__ = ["SandboxSession"]


class SandboxSession:
    """An interpreter that keeps its variables between runs; created by `Sandbox.session`.

    In code, ``_`` is the value of the last run that had one other than ``None`` (not in ``monty``).

    A run that breaks a limit, crashes or is cancelled ends the session: later runs fail with
    `WorkerCrashed`. Runs from several threads are made one after the other.

    Args:
        runner: the sandbox's.
    """

    def __init__(self, runner: SandboxRunner) -> None:
        self._runner = runner
        runner.runs.add_session(self)
        self._lock = threading.Lock()
        self._cells = 0
        self._open: EngineSession | None = None
        self._closed = False

    def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Run code with the variables of the runs before it; see `Sandbox.run`."""
        return self._runner.run(self._run, self._job(code, inputs, want))

    async def arun(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Run code as `run` does, without blocking; cancelling it ends the session."""
        return await self._runner.arun(self._run, self._job(code, inputs, want))

    def close(self) -> None:
        """End the interpreter."""
        with self._lock:
            self._end()

    def close_soon(self) -> None:
        """End the interpreter now, or at the end of its current run."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        self._closed = True
        if self._open is not None:
            self._open.close()
            self._open = None

    def _job(self, code: str, inputs: Any, want: Iterable[Want]) -> dict[str, Any]:
        with self._lock:
            self._cells += 1
            name = f"<cell {self._cells}>"
        return self._runner.job(code, inputs, want, name)

    def _run(self, job: dict[str, Any], calls: Any, token: Any) -> dict[str, Any]:
        with self._lock:
            if self._closed:
                raise ValidationError("the session is closed", code="sandbox_closed")
            if self._open is None:
                self._open = self._runner.open_session()
                # Without `close` too.
                weakref.finalize(self, self._open.close)
            try:
                return self._open.run(job, calls, token)
            finally:
                self._end_if_closed()

    def _end_if_closed(self) -> None:
        # `close_soon` may have been called during the run.
        if self._closed:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
