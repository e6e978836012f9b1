"""The sandbox as users have it: one face over every engine."""

from __future__ import annotations

import asyncio
import functools
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox._closure import Closure, closure, with_arrow
from antiphon.sandbox._engines import ENGINES, accept_no_isolation, choose, layers, probe
from antiphon.sandbox._flight import awaited
from antiphon.sandbox._functions import HostFunctions
from antiphon.sandbox._job import WANTS, granted_files, job_of, with_columns
from antiphon.sandbox._limits import Limits
from antiphon.sandbox._open_runs import OpenRuns
from antiphon.sandbox._outcome import result_of
from antiphon.sandbox._pause import Pausing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from antiphon.sandbox._engines import EngineName, EngineSession
    from antiphon.sandbox._job import Want
    from antiphon.sandbox._pause import SandboxPause
    from antiphon.sandbox._result import SandboxResult

__all__ = ["Sandbox", "SandboxSession"]


class Sandbox:
    """Runs code that nobody trusts, so that it can do no harm.

    The code sees what it is given: `inputs`, the files of `files`, read-only as
    ``/files/<name>``, and the functions of `tools`. It has no network and can start no
    process. One sandbox may be shared by threads and event loops.

    Args:
        engine: what runs the code; ``auto`` takes the strongest that passes its probe here.
        limits: what a run may use. Default: `Limits`'s defaults.
        tools: functions of this process that the code may call: `Tool`, functions, LangChain
            tools. Their time-outs, numbers of calls and approvals hold, for each run. A tool
            that a person has to approve of takes an engine that pauses, and `start`.
        files: files that the code may read: paths, or paths by name.
        packages: installed packages that the code may import, with what they need.
        snapshot_key: a secret of at least 16 bytes. With it runs can be paused (`start`), and
            ``auto`` takes only engines that can do that.
        i_accept_no_isolation: has to be true for ``engine="subprocess"``, which keeps the code
            from nothing: limits hold, and that is all. Each process warns of it once.
        i_accept_landlock_only: lets ``process`` be used where user namespaces are refused, as in
            many containers. Code then reads nothing that was not granted, but for the packages of
            the interpreter's own folder; it sees names and sizes of the host's files, and the
            host's name; it has no folder to write to, and `files` are refused. Results say
            ``isolation="landlock"``.

    Raises:
        SandboxUnavailable: no engine, or not the one asked for, can be used here; the message
            says what is missing.
        ValidationError: an argument is wrong; the code says which.

    Example:
        >>> with Sandbox(engine="monty") as box:
        ...     box.run("sum(numbers)", inputs={"numbers": [1, 2, 3]}).value
        6
    """

    def __init__(
        self,
        engine: EngineName = "auto",
        *,
        limits: Limits | None = None,
        tools: Iterable[Any] = (),
        files: Iterable[str | PathLike[str]] | Mapping[str, Any] = (),
        packages: Iterable[str] = (),
        snapshot_key: bytes | None = None,
        i_accept_no_isolation: bool = False,
        i_accept_landlock_only: bool = False,
    ) -> None:
        packages = [packages] if isinstance(packages, str) else list(packages)
        self._functions = HostFunctions(tools)
        self._pausing = None if snapshot_key is None else Pausing(snapshot_key, self._functions)
        shown = granted_files(files)
        self._name = choose(
            engine,
            packages=packages,
            files=bool(shown),
            pauses=snapshot_key is not None,
            landlock_only=i_accept_landlock_only,
        )
        self._probe = probe(self._name, landlock_only=i_accept_landlock_only)
        self._layers = layers(self._probe)
        if snapshot_key is None:
            self._functions.refuse_persons(f"a sandbox of engine `{self._name}` without a key")
        if self._name == "subprocess":
            accept_no_isolation(given=i_accept_no_isolation)
        own = ENGINES[self._name].packages is None
        granted = closure(with_arrow(packages)) if own else Closure(packages, [], [])
        arrow = {"pyarrow", "polars"}.intersection(granted.modules)
        self._takes_arrow = ENGINES[self._name].tables or bool(arrow)
        self._packages = tuple(packages)
        brought = (Path(path).name for path in granted.paths)
        self._limits = (limits or Limits()).complete([*packages, *brought])
        settings: dict[str, Any] = {
            "engine": self._name,
            "packages": granted.modules,
            "mounts": {"read": granted.paths, "files": shown, "path": granted.homes},
            "limits": self._limits,
        }
        if self._name == "process" and i_accept_landlock_only:
            settings["landlock_only"] = True
        self._engine = ENGINES[self._name].make(settings)
        self._open = OpenRuns()
        # Also when nobody closes it: a worker must not outlive its sandbox.
        self._closing = weakref.finalize(self, self._open.close, self._engine)

    @property
    def engine(self) -> str:
        """The engine that runs the code."""
        return self._name

    @property
    def isolation(self) -> str:
        """What stands between the code and this machine."""
        return self._probe["isolation"]

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of that which hold here, for every run."""
        return self._layers

    @property
    def limits(self) -> dict[str, Any]:
        """All limits by name, in seconds and bytes; a copy."""
        return dict(self._limits)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the code may import, as they were named."""
        return self._packages

    def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Runs code in a clean interpreter.

        It works inside a running event loop too, and blocks it; there `arun` is better.

        Args:
            code: Python. If its last statement is an expression, that is the value.
            inputs: variables of the code: plain values, dates, arrays; data frames and Arrow
                tables arrive as data frames where the engine has pandas, else as lists by
                column.
            want: what shall be brought out beside its output. Default: everything.

        Returns:
            What came of it. Whatever the code does is told there: `SandboxResult.check` raises.

        Raises:
            ValidationError: the code is no text or too long, or an input cannot go in.
        """
        job = self._job(code, inputs, want)
        return self._stoppable(self._engine.run, job, self._calls(None), self._own_stopper())

    async def arun(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Runs code as `run` does; being cancelled kills it. Async tools run on this loop."""
        job = self._job(code, inputs, want)
        stopper, calls = self._stopper(), self._calls(asyncio.get_running_loop())
        run = functools.partial(self._within, self._engine.run, job, calls, stopper)
        return self._told(await awaited(run, stopper))

    def session(self) -> SandboxSession:
        """An interpreter that keeps its names from run to run; use it with ``with``."""
        return SandboxSession(self)

    def start(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult | SandboxPause:
        """Runs code until its end, or until it calls a tool: there it pauses.

        Args:
            code: as `run`.
            inputs: as `run`.
            want: as `run`.

        Returns:
            The result; or the pause, which can be written down and go on in another process.

        Raises:
            ValidationError: the sandbox has no `snapshot_key` (``sandbox_key_invalid``), or as
                `run`.
        """
        pausing = self._pausing or _no_key()
        return pausing.begin(self._engine, self._job(code, inputs, want))

    def load(self, data: bytes) -> SandboxPause:
        """A pause that was written down, by this or another process.

        Args:
            data: what `SandboxPause.dump` gave.

        Raises:
            ValidationError: it was not made with this sandbox's key, was changed, or waits for
                a tool that this sandbox has not (``sandbox_snapshot_refused``).
        """
        return (self._pausing or _no_key()).load(self._engine, data, self._limits)

    def close(self) -> None:
        """Ends every worker, and returns when they are gone; closing again does nothing.

        Sessions end too, and runs on other threads: their error is `SandboxCancelled`, with the
        code ``sandbox_closed``.
        """
        self._closing()
        # Another thread may be at that, and not be done.
        self._engine.close()

    def _job(
        self,
        code: str,
        inputs: Mapping[str, Any] | None,
        want: Iterable[Want],
        name: str = "<cell 1>",
    ) -> dict[str, Any]:
        if not self._closing.alive:
            raise ValidationError("the sandbox is closed", code="sandbox_closed")
        job = job_of(code, inputs, name=name, want=want, source=self._limits["source"])
        if job["tables"] and not self._takes_arrow:
            job = with_columns(job)
        job["functions"] = self._functions.declared
        return job

    def _stoppable(self, run: Any, job: dict[str, Any], calls: Any, stopper: Any) -> SandboxResult:
        """Runs on this thread; Ctrl-C stops the run before it is passed on."""
        try:
            return self._told(self._within(run, job, calls, stopper))
        except BaseException:
            if stopper is not None:
                stopper.stop("the caller was interrupted")
            raise

    def _told(self, outcome: dict[str, Any]) -> SandboxResult:
        """The result of a run; one that `close` has ended says so."""
        error = outcome.get("error")
        if error is not None and error["kind"] == "cancelled" and not self._closing.alive:
            closed = {"kind": "closed", "message": "the sandbox was closed during the run"}
            outcome = {**outcome, "error": closed}
        return result_of(outcome, self._layers)

    def _stopper(self) -> Any:
        return ENGINES[self._name].stopper()

    def _within(self, run: Any, job: dict[str, Any], calls: Any, stopper: Any) -> Any:
        """Runs on this thread, so that `close` can end it."""
        if ENGINES[self._name].hears:
            # A native engine ends its runs by itself.
            return run(job, calls, stopper)
        with self._open.running(stopper):
            return run(job, calls, stopper)

    def _own_stopper(self) -> Any:
        """What stops a run on the caller's thread; nothing where the engine hears Ctrl-C."""
        return None if ENGINES[self._name].hears else self._stopper()

    def _calls(self, loop: asyncio.AbstractEventLoop | None) -> Any:
        return self._functions.for_run(loop) if self._functions.declared else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sandbox(engine={self._name!r}, isolation={self.isolation!r})"


class SandboxSession:
    """An interpreter that keeps its names from run to run; made by `Sandbox.session`.

    A run that breaks a limit, crashes or is cancelled ends it: those after it are ``crashed``.
    Runs are made one after the other, also when several threads ask.

    Args:
        sandbox: where it runs.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        sandbox._open.with_session(self)  # noqa: SLF001 - its other half
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
        """Runs code among the names of the runs before it; see `Sandbox.run`."""
        stopper = self._sandbox._own_stopper()  # noqa: SLF001 - its other half
        calls = self._sandbox._calls(None)  # noqa: SLF001 - as above
        job = self._job(code, inputs, want)
        return self._sandbox._stoppable(self._run, job, calls, stopper)  # noqa: SLF001 - as above

    async def arun(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Runs code as `run` does; being cancelled ends the session."""
        stopper = self._sandbox._stopper()  # noqa: SLF001 - its other half
        calls = self._sandbox._calls(asyncio.get_running_loop())  # noqa: SLF001 - as above
        job = self._job(code, inputs, want)
        within = self._sandbox._within  # noqa: SLF001 - as above
        run = functools.partial(within, self._run, job, calls, stopper)
        return self._sandbox._told(await awaited(run, stopper))  # noqa: SLF001 - as above

    def close(self) -> None:
        """Ends the interpreter."""
        with self._lock:
            self._end()

    def close_soon(self) -> None:
        """Ends the interpreter: now, or with the run that it is at."""
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
        return self._sandbox._job(code, inputs, want, name)  # noqa: SLF001 - its other half

    def _run(self, job: dict[str, Any], calls: Any, stopper: Any) -> dict[str, Any]:
        with self._lock:
            if self._closed:
                raise ValidationError("the session is closed", code="sandbox_closed")
            if self._open is None:
                self._open = self._opened()
            try:
                return self._open.run(job, calls, stopper)
            finally:
                self._end_if_closed()

    def _opened(self) -> EngineSession:
        try:
            opened = self._sandbox._engine.session()  # noqa: SLF001 - its other half
            # Also when nobody closes it.
            weakref.finalize(self, opened.close)
        except (RuntimeError, SandboxUnavailable) as problem:
            if not self._sandbox._closing.alive:  # noqa: SLF001 - as above
                raise ValidationError("the sandbox is closed", code="sandbox_closed") from problem
            raise
        return opened

    def _end_if_closed(self) -> None:
        if self._closed:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _no_key() -> Any:
    raise ValidationError(
        "runs of this sandbox cannot pause: it has no snapshot key",
        code="sandbox_key_invalid",
        hint="make it with `Sandbox(snapshot_key=secrets.token_bytes(32), …)`",
    )
