"""The engine `monty`: a pool of workers, started with the first job."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from antiphon.errors import InternalError
from antiphon.sandbox._engine import EngineKind, probe_package, session_ended
from antiphon.sandbox._monty.job import ISOLATION, Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from antiphon._antiphon import CancellationToken
    from antiphon.sandbox._monty.progress import PausedJob

__all__ = ["MONTY", "MontyEngine", "MontySession"]

_WORKERS = 64
_owner: int | None = None
"""The process that has Monty's threads."""
_SUSPENSIONS = 1_000_000
"""Includes look-ups of names; calls of host functions have a separate limit."""


def _use() -> dict[str, Any]:
    """Run a line of code, and check its result."""
    import pydantic_monty as monty

    _check_process()
    with monty.Monty() as pool, pool.checkout() as session:
        if session.feed_run("20 + 22") != 20 + 22:
            raise ValueError("a wrong result")
    return {}


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

    def run(
        self, job: Mapping[str, Any], call: Any, cancel: CancellationToken | None
    ) -> dict[str, Any]:
        """Run a job in a fresh session."""
        with self.worker() as worker:
            outcome: dict[str, Any] = worker.run(job, call, cancel)
        return outcome

    def begin(
        self, job: Mapping[str, Any], cancel: CancellationToken | None
    ) -> dict[str, Any] | PausedJob:
        """Run a job to its end, or to its first call of a host function."""
        with self.worker() as worker:
            outcome: dict[str, Any] | PausedJob = worker.run(job, None, cancel, pauses=True)
        return outcome

    def resume(
        self, paused: PausedJob, reply: Mapping[str, Any], cancel: CancellationToken | None
    ) -> dict[str, Any] | PausedJob:
        """Answer the call at which a job is paused, and run to its end or its next call."""
        with self.worker() as worker:
            outcome: dict[str, Any] | PausedJob = worker.resume(paused, reply, cancel)
        return outcome

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
    def worker(self, start: str = "spare") -> Iterator[Worker]:
        """Check out a fresh worker of the pool."""
        pool = self._start()
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
            yield Worker(session, limits, self._mounts, start)

    def _start(self) -> Any:
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
        self._worker = self._stack.enter_context(engine.worker("session"))
        self._process = os.getpid()
        _LIVING.add(self)

    def run(
        self, job: Mapping[str, Any], call: Any, cancel: CancellationToken | None
    ) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""
        if not self._worker.alive:
            return session_ended(engine="monty", isolation=ISOLATION)
        outcome: dict[str, Any] = self._worker.run(job, call, cancel)
        return outcome

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


def _check_process() -> None:
    """Refuse the fork of a process that has used Monty: it lacks Monty's threads and would hang.

    Raises:
        InternalError: this is such a fork (``process_forked``).
    """
    global _owner  # noqa: PLW0603 - one per process
    if _owner not in {None, os.getpid()}:
        raise InternalError(
            "a sandbox was used in a forked child of the process that created it",
            code="process_forked",
            hint="start processes by `spawn` or `forkserver`, or fork before the first run",
        )
    _owner = os.getpid()


MONTY = EngineKind(
    probe=partial(probe_package, "monty", ISOLATION, "pydantic-monty", _use),
    make=MontyEngine,
    packages=frozenset(),
    pauses=True,
)
