"""One sandbox's way to its engine, shared by the sandbox, its sessions and `Computation`."""

from __future__ import annotations

import asyncio
import functools
import weakref
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import CancellationToken
from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._job import WANTS, job_of, with_columns
from antiphon.sandbox._outcome import result_of
from antiphon.sandbox._run_handle import OpenRuns, await_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from antiphon.sandbox._engine import Engine, EngineSession
    from antiphon.sandbox._host_functions import HostFunctions
    from antiphon.sandbox._job import Want
    from antiphon.sandbox._result import SandboxResult

    _Work = Callable[[Any, Any, Any], dict[str, Any]]

__all__ = ["SandboxRunner"]


class SandboxRunner:
    """Builds jobs, runs them on an engine, and turns outcomes into results.

    Args:
        engine: the engine; closed by `close`, or when this object is garbage-collected.
        functions: the tools that the code may call.
        layers: the layers of isolation that hold for each run.
        source: the longest code in bytes.
        takes_arrow: whether tables reach the code as Arrow; otherwise as lists by column.
        ends_runs: as `EngineKind.ends_runs`.
    """

    def __init__(
        self,
        engine: Engine,
        functions: HostFunctions,
        *,
        layers: tuple[str, ...],
        source: int,
        takes_arrow: bool,
        ends_runs: bool,
    ) -> None:
        self.engine, self.runs = engine, OpenRuns()
        self._functions = functions
        self._layers, self._source, self._takes_arrow = layers, source, takes_arrow
        self._ends_runs = ends_runs
        # Without `close` too: a worker must not outlive its sandbox.
        self._closing = weakref.finalize(self, self.runs.close, engine)

    def job(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
        name: str = "<cell 1>",
    ) -> dict[str, Any]:
        """Build a job in the engines' form, as `job_of`."""
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

    def run(self, work: _Work, job: dict[str, Any]) -> SandboxResult:
        """Run a job by `Engine.run` or that of a session; Ctrl-C stops it before it is raised."""
        token = CancellationToken()
        try:
            return self.result(self._track(work, job, self.calls(None), token))
        except BaseException:
            token.cancel("the caller was interrupted")
            raise

    async def arun(self, work: _Work, job: dict[str, Any]) -> SandboxResult:
        """Run a job on another thread; cancelling the awaiting task kills it."""
        token, calls = CancellationToken(), self.calls(asyncio.get_running_loop())
        tracked = functools.partial(self._track, work, job, calls, token)
        return self.result(await await_run(tracked, token))

    def open_session(self) -> EngineSession:
        """Open an interpreter that keeps its variables."""
        try:
            return self.engine.session()
        except (RuntimeError, SandboxUnavailable) as problem:
            if not self._closing.alive:
                raise _closed() from problem
            raise

    def result(self, outcome: dict[str, Any]) -> SandboxResult:
        """Build the result of a run; if `close` ended it, the error states that."""
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

    def _track(self, work: _Work, job: dict[str, Any], calls: Any, token: Any) -> dict[str, Any]:
        if self._ends_runs:
            return work(job, calls, token)
        with self.runs.running(token):
            return work(job, calls, token)


def _closed() -> ValidationError:
    return ValidationError("the sandbox is closed", code="sandbox_closed")
