"""The engine `monty`: a pool of workers, started when the first job comes."""

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

__all__ = ["MONTY", "MontyEngine", "MontySession", "failed", "told"]

_ISOLATION = "interpreter+process"
_WORKERS = 64
_home: int | None = None
"""The process that Monty's threads run in."""
_SUSPENSIONS = 1_000_000
"""Look-ups of names count too: calls of host functions are counted elsewhere."""


def _probe() -> Probe:
    """What the engine promises here; found by running something in it."""
    found = Probe(engine="monty", ok=False, isolation=_ISOLATION, version="", layers={}, missing=[])
    try:
        found["version"] = version("pydantic-monty")
        import pydantic_monty as monty

        _check_process()
        with monty.Monty() as pool, pool.checkout() as session:
            found["ok"] = session.feed_run("20 + 22") == 20 + 22
    except (PackageNotFoundError, ImportError):
        found["missing"] = ["the package pydantic-monty: pip install 'antiphon[monty]'"]
    except Exception as error:  # noqa: BLE001 - whatever keeps it from working is told
        found["missing"] = [f"pydantic-monty does not work here: {error}"]
    else:
        found["missing"] = [] if found["ok"] else ["pydantic-monty answers wrongly here"]
    return found


class MontyEngine:
    """Runs jobs in a part of Python that has no way to the machine.

    Args:
        settings: as the native engines take them; ``limits`` is the complete table.
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
        """Runs a job in a fresh session."""
        with self.worker() as worker:
            return told(worker.run(job, _granted(call), stop), "spare")

    def begin(self, job: Mapping[str, Any], stop: StopSignal | None) -> dict[str, Any] | Paused:
        """Runs a job to its end, or to its first call of a host function."""
        with self.worker() as worker:
            outcome = worker.run(job, None, stop)
        return outcome if isinstance(outcome, Paused) else told(outcome, "spare")

    def resume(
        self, paused: Paused, reply: Mapping[str, Any], stop: StopSignal | None
    ) -> dict[str, Any] | Paused:
        """Answers the call at which a job waits, and runs to its end or its next call."""
        with self.worker() as worker:
            outcome = worker.resume(paused.dump, paused.progress, reply, stop)
        return outcome if isinstance(outcome, Paused) else told(outcome, "spare")

    def session(self) -> MontySession:
        """A session that keeps its names from run to run."""
        return MontySession(self)

    def close(self) -> None:
        """Ends the workers; another run would start new ones."""
        if self._process != os.getpid():
            return
        with self._lock:
            stack, self._stack, self._pool = self._stack, None, None
        if stack is not None:
            stack.close()

    @contextlib.contextmanager
    def worker(self) -> Iterator[Worker]:
        """A worker of the pool in a state that nobody has touched."""
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
            # A sleep would pass outside of the time limits.
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
        """Copies of the granted files, each folder mounted read-only: Monty mounts no file."""
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
    """A worker that keeps its names from run to run.

    Args:
        engine: where the worker comes from.
    """

    def __init__(self, engine: MontyEngine) -> None:
        self._stack = contextlib.ExitStack()
        self._worker = self._stack.enter_context(engine.worker())
        self._process = os.getpid()
        _LIVING.add(self)

    def run(self, job: Mapping[str, Any], call: Any, stop: StopSignal | None) -> dict[str, Any]:
        """Runs a job among the names of those before it."""
        if not self._worker.alive:
            return failed("crashed", "the session has ended with an earlier run")
        return told(self._worker.run(job, _granted(call), stop), "session")

    def close(self) -> None:
        """Gives the worker back."""
        if self._process == os.getpid():
            self._stack.close()


_LIVING: weakref.WeakSet[MontyEngine | MontySession] = weakref.WeakSet()
"""What has workers."""


def _leave() -> None:
    """Keeps what a fork has of its parent's workers for ever.

    Letting go of it would take it out of what the parent's threads wait for, which both share.
    """
    for one in list(_LIVING):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    _LIVING.clear()


os.register_at_fork(after_in_child=_leave)


def told(outcome: dict[str, Any] | Paused, start: str) -> dict[str, Any]:
    """An outcome with what this engine is."""
    if isinstance(outcome, Paused):
        return failed("crashed", "a job paused that should not")
    usage = {**outcome["usage"], "start": start}
    return {**outcome, "usage": usage, "engine": "monty", "isolation": _ISOLATION}


def failed(kind: str, message: str) -> dict[str, Any]:
    """The outcome of a job that has not run."""
    return {
        "error": {"kind": kind, "message": message},
        "usage": {},
        "engine": "monty",
        "isolation": _ISOLATION,
    }


def _check_process() -> None:
    """Refuses a fork of a process that has used Monty: its threads are not there, and it hangs.

    Raises:
        InternalError: this is one (``process_forked``).
    """
    global _home  # noqa: PLW0603 - one per process, on purpose
    if _home not in {None, os.getpid()}:
        raise InternalError(
            "a sandbox was used in a process that was forked from one that had used it",
            code="process_forked",
            hint="start processes by `spawn` or `forkserver`, or fork before the first run",
        )
    _home = os.getpid()


def _granted(call: Any) -> Any:
    """A call that refuses, in place of none: without any the job would pause."""

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
