"""The public sandbox: one interface to every engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, Self

from antiphon._keywords import checked_init
from antiphon.errors import ValidationError
from antiphon.sandbox._engines import ENGINES, accept_no_isolation, choose, layers, probe
from antiphon.sandbox._host_functions import HostFunctions
from antiphon.sandbox._job import WANTS, granted_files
from antiphon.sandbox._limits import Limits
from antiphon.sandbox._packages import PackageFiles, package_files, with_arrow
from antiphon.sandbox._pause import PausableRuns
from antiphon.sandbox._runner import SandboxRunner
from antiphon.sandbox._session import SandboxSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from antiphon.sandbox._engines import EngineName
    from antiphon.sandbox._job import Want
    from antiphon.sandbox._pause import SandboxPause
    from antiphon.sandbox._result import SandboxResult

__all__ = ["Sandbox", "runner_of"]


@checked_init
class Sandbox:
    """Runs untrusted code in isolation from this machine.

    The code can access its `inputs`, the files of `files`, read-only as ``/files/<name>``, and
    the functions of `tools`. It has no network and cannot start processes. Threads and event
    loops can share a sandbox.

    Args:
        engine: the engine that runs the code; ``auto`` uses the strongest that works here.
        limits: the resource limits of a run. Default: `Limits()`.
        tools: functions of this process that the code may call: `Tool`, functions, LangChain
            tools. Their time-outs, call limits and approvals apply to each run. A tool that
            needs approval by a person requires an engine that can pause, and `start`.
        files: files that the code may read: paths, or paths by name.
        packages: installed packages that the code may import, with their dependencies.
        snapshot_key: a secret of at least 16 bytes. It enables pausing runs (`start`) and
            restricts ``auto`` to engines that can pause.
        i_accept_no_isolation: must be true for ``engine="subprocess"``, which enforces limits
            but provides no isolation. It warns once per process.
        i_accept_landlock_only: allows ``process`` where user namespaces are refused, as in many
            containers. The code then reads only granted files and the interpreter's own
            packages, but it sees names and sizes of the host's files and the host's name. It
            has no writable folder, and `files` are refused. Results have
            ``isolation="landlock"``.

    Raises:
        SandboxUnavailable: no engine, or not the requested one, can be used here; the message
            lists what is missing.
        ValidationError: an argument is invalid; the code says which.

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
        self._pausing = (
            None if snapshot_key is None else PausableRuns(snapshot_key, self._functions)
        )
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
            where = f"a sandbox without `snapshot_key` (engine `{self._name}`)"
            self._functions.refuse_persons(where)
        if self._name == "subprocess":
            accept_no_isolation(given=i_accept_no_isolation)
        kind = ENGINES[self._name]
        own = kind.packages is None
        granted = package_files(with_arrow(packages)) if own else PackageFiles(packages, [], [])
        arrow = {"pyarrow", "polars"}.intersection(granted.modules)
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
        self._runner = SandboxRunner(
            kind.make(settings),
            self._functions,
            layers=self._layers,
            source=self._limits["source"],
            takes_arrow=kind.tables or bool(arrow),
            ends_runs=kind.ends_runs,
        )

    @property
    def engine(self) -> str:
        """The name of the engine that runs the code."""
        return self._name

    @property
    def isolation(self) -> str:
        """The barrier between the code and this machine; see `Isolation`."""
        return self._probe["isolation"]

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of isolation that hold here for every run."""
        return self._layers

    @property
    def limits(self) -> dict[str, Any]:
        """All limits by name, in seconds and bytes; a copy."""
        return dict(self._limits)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the code may import, as they were passed."""
        return self._packages

    def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Run code in a clean interpreter.

        It can be called in a running event loop, which it blocks; use `arun` there.

        Args:
            code: Python. If its last statement is an expression, that is the value.
            inputs: variables of the code: plain values, dates, arrays; data frames and Arrow
                tables arrive as data frames if the engine has pandas or polars, else as lists by
                column.
            want: what to return besides the output. Default: everything.

        Returns:
            The result, also when the code failed; `SandboxResult.check` raises its error.

        Raises:
            ValidationError: the code is not text or too long, or an input cannot be passed.
        """
        return self._runner.run(self._runner.engine.run, self._runner.job(code, inputs, want))

    async def arun(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult:
        """Run code as `run` does, without blocking; cancelling it kills the code.

        Async tools run on this event loop.
        """
        job = self._runner.job(code, inputs, want)
        return await self._runner.arun(self._runner.engine.run, job)

    def session(self) -> SandboxSession:
        """Return an interpreter that keeps its variables between runs; use it with ``with``."""
        return SandboxSession(self._runner)

    def start(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        want: Iterable[Want] = WANTS,
    ) -> SandboxResult | SandboxPause:
        """Run code to its end, or until it calls a tool, where it pauses.

        Args:
            code: as `run`.
            inputs: as `run`.
            want: as `run`.

        Returns:
            The result; or the pause, which can be saved and resumed in another process.

        Raises:
            ValidationError: the sandbox has no `snapshot_key` (``sandbox_key_invalid``), or as
                `run`.
        """
        pausing = self._pausing or _no_key()
        return pausing.begin(self._runner.engine, self._runner.job(code, inputs, want))

    def load(self, data: bytes) -> SandboxPause:
        """Load a pause that this or another process saved.

        Args:
            data: from `SandboxPause.dump`.

        Raises:
            ValidationError: it was not saved with this sandbox's key, was changed, or waits for
                a tool that this sandbox does not have (``sandbox_snapshot_refused``).
        """
        return (self._pausing or _no_key()).load(self._runner.engine, data, self._limits)

    def close(self) -> None:
        """End every worker, and return when they are gone; closing again does nothing.

        Sessions end too, and so do runs on other threads: their error is `SandboxCancelled` with
        the code ``sandbox_closed``.
        """
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Never:
        raise TypeError(
            f"a sandbox cannot be pickled or copied: {self!r}; make it in each process, with a "
            "function that returns it"
        )

    def __repr__(self) -> str:
        return f"Sandbox(engine={self._name!r}, isolation={self.isolation!r})"


def runner_of(sandbox: Sandbox) -> SandboxRunner:
    """Return what a ready system needs of a sandbox: its engine, jobs and calls."""
    return sandbox._runner  # noqa: SLF001 - the one way in, for the package alone


def _no_key() -> Any:
    raise ValidationError(
        "this sandbox cannot pause runs: it has no snapshot key",
        code="sandbox_key_invalid",
        hint="create it with `Sandbox(snapshot_key=secrets.token_bytes(32), …)`",
    )
