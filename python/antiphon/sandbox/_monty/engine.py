"""The engine `monty`: a pool of workers, started with the first job."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from antiphon.errors import InternalError
from antiphon.sandbox._engine import EngineKind, Probe
from antiphon.sandbox._monty.session import Paused
from antiphon.sandbox._monty.worker import Worker
from antiphon.sandbox._run_handle import StopSignal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MONTY", "MontyEngine", "MontySession", "complete", "failed"]

_ISOLATION = "interpreter+process"
_WORKERS = 64
_owner: int | None = None
"""The process that has Monty's threads."""
_SUSPENSIONS = 1_000_000
"""Includes look-ups of names; calls of host functions have a limit of their own."""


def _probe() -> Probe:
    """Run a line of code, and check its result."""
    found = Probe(engine="monty", ok=False, isolation=_ISOLATION, version="", layers={}, missing=[])
    try:
        found["version"] = version("pydantic-monty")
        import pydantic_monty as monty

        _check_process()
        with monty.Monty() as pool, pool.checkout() as session:
            found["ok"] = session.feed_run("20 + 22") == 20 + 22
    except (PackageNotFoundError, ImportError):
        found["missing"] = ["the package pydantic-monty: pip install 'antiphon[monty]'"]
    except Exception as error:  # noqa: BLE001 - reported as the reason
        found["missing"] = [f"pydantic-monty does not work here: {error}"]
    else:
        found["missing"] = [] if found["ok"] else ["pydantic-monty answers wrongly here"]
    return found


class MontyEngine:
    """Runs jobs in a subset of Python without access to the machine.

    Args:
        settings: as for native engines; ``limits`` is complete.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._limits: dict[str, Any] = dict(settings["limits"])
        self._files: list[list[str]] = list(settings["mounts"]["files"])
        self._lock = threading.Lock()
        self._stack: contextlib.ExitStack | None = None
        self._pool: Any = None
        self._mounts: list[Any] = []
        self._process = 0

    def run(self, job: Mapping[str, Any], call: Any, stop: StopSignal | None) -> dict[str, Any]:
        """Run a job in a fresh session."""
        with self.worker() as worker:
            return complete(worker.run(job, _granted(call), stop), "spare")

    def begin(self, job: Mapping[str, Any], stop: StopSignal | None) -> dict[str, Any] | Paused:
        """Run a job to its end, or to its first call of a host function."""
        with self.worker() as worker:
            outcome = worker.run(job, None, stop)
        return outcome if isinstance(outcome, Paused) else complete(outcome, "spare")

    def resume(
        self, paused: Paused, reply: Mapping[str, Any], stop: StopSignal | None
    ) -> dict[str, Any] | Paused:
        """Answer the call at which a job is paused, and run to its end or its next call."""
        with self.worker() as worker:
            outcome = worker.resume(paused.dump, paused.progress, reply, stop)
        return outcome if isinstance(outcome, Paused) else complete(outcome, "spare")

    def session(self) -> MontySession:
        """Open a session that keeps its variables."""
        return MontySession(self)

    def close(self) -> None:
        """End the workers; a later run starts new ones."""
        if self._process != os.getpid():
            return
        with self._lock:
            stack, self._stack, self._pool = self._stack, None, None
        if stack is not None:
            stack.close()

    @contextlib.contextmanager
    def worker(self) -> Iterator[Worker]:
        """Check out a fresh worker of the pool."""
        pool = self._started()
        limits = self._limits
        checkout = pool.checkout(
            script_name="cell.py",
            limits={
                "max_feed_duration_secs": min(limits["wall"], limits["cpu"]),
                "max_memory": limits["memory"],
                "max_suspensions": _SUSPENSIONS,
                "max_total_sleep_secs": 0.0,
            },
            # Sleeping would not count towards the time limits.
            os_policy={"sleep": "zero"},
        )
        with checkout as session:
            yield Worker(session, limits, self._mounts)

    def _started(self) -> Any:
        import pydantic_monty as monty

        _check_process()
        with self._lock:
            if self._pool is not None:
                return self._pool
            stack = contextlib.ExitStack()
            self._mounts = self._granted_files(stack)
            self._pool = stack.enter_context(
                monty.Monty(max_processes=_WORKERS, checkout_timeout=float(self._limits["wall"]))
            )
            self._stack, self._process = stack, os.getpid()
            _LIVING.add(self)
            return self._pool

    def _granted_files(self, stack: contextlib.ExitStack) -> list[Any]:
        """Copy the granted files and mount their folders read-only: Monty cannot mount files."""
        import pydantic_monty as monty

        folders: dict[str, Path] = {}
        for source, place in self._files:
            home = str(PurePosixPath(place).parent)
            if home not in folders:
                folders[home] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            shutil.copyfile(source, folders[home] / PurePosixPath(place).name)
        return [
            stack.enter_context(monty.MountDir(host_path=path, virtual_path=home, mode="read-only"))
            for home, path in folders.items()
        ]


class MontySession:
    """A worker that keeps its variables between runs.

    Args:
        engine: the engine of the worker.
    """

    def __init__(self, engine: MontyEngine) -> None:
        self._stack = contextlib.ExitStack()
        self._worker = self._stack.enter_context(engine.worker())
        self._process = os.getpid()
        _LIVING.add(self)

    def run(self, job: Mapping[str, Any], call: Any, stop: StopSignal | None) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""
        if not self._worker.alive:
            return failed("crashed", "the session has ended with an earlier run")
        return complete(self._worker.run(job, _granted(call), stop), "session")

    def close(self) -> None:
        """Return the worker to the pool."""
        if self._process == os.getpid():
            self._stack.close()


_LIVING: weakref.WeakSet[MontyEngine | MontySession] = weakref.WeakSet()
"""The engines and sessions that have workers."""


def _keep_in_fork() -> None:
    """Keep the parent's workers alive in a fork, which must never release them.

    A release would unregister them from the epoll set of the parent's threads, which is shared.
    """
    for one in list(_LIVING):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    _LIVING.clear()


os.register_at_fork(after_in_child=_keep_in_fork)


def complete(outcome: dict[str, Any] | Paused, start: str) -> dict[str, Any]:
    """Complete an outcome with the properties of this engine."""
    if isinstance(outcome, Paused):
        return failed("crashed", "a job paused unexpectedly")
    usage = {**outcome["usage"], "start": start}
    return {**outcome, "usage": usage, "engine": "monty", "isolation": _ISOLATION}


def failed(kind: str, message: str) -> dict[str, Any]:
    """Build the outcome of a job that was not run."""
    return {
        "error": {"kind": kind, "message": message},
        "usage": {},
        "engine": "monty",
        "isolation": _ISOLATION,
    }


def _check_process() -> None:
    """Refuse the fork of a process that has used Monty: it lacks Monty's threads and would hang.

    Raises:
        InternalError: this is such a fork (``process_forked``).
    """
    global _owner  # noqa: PLW0603 - one per process
    if _owner not in {None, os.getpid()}:
        raise InternalError(
            "a sandbox was used in a process that was forked from one that had used it",
            code="process_forked",
            hint="start processes by `spawn` or `forkserver`, or fork before the first run",
        )
    _owner = os.getpid()


def _granted(call: Any) -> Any:
    """Return a call that always fails, if there is none: without one the job would pause."""

    def refuse(*_: Any) -> Any:
        raise RuntimeError("no host function is granted")

    return refuse if call is None else call


MONTY = EngineKind(
    probe=_probe,
    make=MontyEngine,
    stopper=StopSignal,
    packages=frozenset(),
    pauses=True,
)
