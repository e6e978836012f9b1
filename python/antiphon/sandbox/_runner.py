"""One sandbox's way to its engine, shared by the sandbox, its sessions and `Computation`."""

from __future__ import annotations

import asyncio
import functools
import weakref
from typing import TYPE_CHECKING, Any

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._job import WANTS, job_of, with_columns
from antiphon.sandbox._outcome import result_of
from antiphon.sandbox._run_handle import OpenRuns, await_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from antiphon.sandbox._engine import CancellationToken, Engine, EngineKind, EngineSession
    from antiphon.sandbox._host_functions import HostFunctions
    from antiphon.sandbox._job import Want
    from antiphon.sandbox._result import SandboxResult

    _Work = Callable[[Any, Any, Any], dict[str, Any]]

__all__ = ["SandboxRunner"]


class SandboxRunner:
    """Builds jobs, runs them on an engine, and turns outcomes into results.

    Args:
        kind: the properties of the engine.
        engine: the engine; closed by `close`, or when this object is garbage-collected.
        functions: the tools that the code may call.
        layers: the layers of isolation that hold for each run.
        source: the longest code in bytes.
        takes_arrow: whether tables reach the code as Arrow; otherwise as lists by column.

    Attributes:
        engine: as above.
        runs: the runs and sessions that `close` ends.
    """

    def __init__(
        self,
        kind: EngineKind,
        engine: Engine,
        functions: HostFunctions,
        *,
        layers: tuple[str, ...],
        source: int,
        takes_arrow: bool,
    ) -> None:
        self.engine, self.runs = engine, OpenRuns()
        self._kind, self._functions = kind, functions
        self._layers, self._source, self._takes_arrow = layers, source, takes_arrow
        # Without `close` too: a worker must not outlive its sandbox.
        self._closing = weakref.finalize(self, self.runs.close, engine)

    def job(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
        name: str = "<cell 1>",
    ) -> dict[str, Any]:
        """Build a job in the engines' form.

        Raises:
            ValidationError: the sandbox is closed (``sandbox_closed``), or as `job_of`.
        """
        if not self._closing.alive:
            raise _closed()
        job = job_of(code, inputs, name=name, want=want, source=self._source)
        if job["tables"] and not self._takes_arrow:
            job = with_columns(job)
        job["functions"] = self._functions.declared
        return job

    def calls(self, loop: asyncio.AbstractEventLoop | None) -> Any:
        """Return what answers the calls of one run; async tools run on `loop`."""
        return self._functions.for_run(loop) if self._functions.declared else None

    def stopper(self) -> CancellationToken:
        """Return what stops one run."""
        return self._kind.stopper()

    def run(self, work: _Work, job: dict[str, Any]) -> SandboxResult:
        """Run a job on this thread; Ctrl-C stops it before it is raised.

        Args:
            work: runs a job: `Engine.run`, or that of a session.
            job: from `job`.
        """
        stopper = None if self._kind.stops_itself else self.stopper()
        try:
            return self.result(self._tracked(work, job, self.calls(None), stopper))
        except BaseException:
            if stopper is not None:
                stopper.stop("the caller was interrupted")
            raise

    async def arun(self, work: _Work, job: dict[str, Any]) -> SandboxResult:
        """Run a job on another thread; cancelling the awaiting task kills it."""
        stopper, calls = self.stopper(), self.calls(asyncio.get_running_loop())
        tracked = functools.partial(self._tracked, work, job, calls, stopper)
        return self.result(await await_run(tracked, stopper))

    def open_session(self) -> EngineSession:
        """Open an interpreter that keeps its variables.

        Raises:
            ValidationError: the sandbox is closed (``sandbox_closed``).
        """
        try:
            return self.engine.session()
        except (RuntimeError, SandboxUnavailable) as problem:
            if not self._closing.alive:
                raise _closed() from problem
            raise

    def result(self, outcome: dict[str, Any]) -> SandboxResult:
        """Build the result of a run; the error of one that `close` has ended says so."""
        error = outcome.get("error")
        if error is not None and error["kind"] == "cancelled" and not self._closing.alive:
            closed = {"kind": "closed", "message": "the sandbox was closed during the run"}
            outcome = {**outcome, "error": closed}
        return result_of(outcome, self._layers)

    def close(self) -> None:
        """End all runs, sessions and workers; return when they are gone."""
        self._closing()
        # Another thread may be closing it, and not be done.
        self.engine.close()

    def _tracked(self, work: Any, job: dict[str, Any], calls: Any, stopper: Any) -> Any:
        if self._kind.stops_itself:
            return work(job, calls, stopper)
        with self.runs.running(stopper):
            return work(job, calls, stopper)


def _closed() -> ValidationError:
    return ValidationError("the sandbox is closed", code="sandbox_closed")
