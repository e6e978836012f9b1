"""The worker's loop: receive a job, run it, send its outcome."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import types
import warnings
from json import JSONDecoder
from typing import TYPE_CHECKING, Any

from . import figures, table
from .compiled_source import CompiledSource
from .decode import Decoder
from .fault import exception_fault, syntax_fault
from .frames import ATTACHMENT, JOB, OUTCOME, READY, Channel, ChannelClosed
from .functions import Caller, ToolError
from .outcome import OutcomeBuilder
from .warmup import FAILING, NAME, WHOLE, WarmupChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from .fault import Fault

_DEEPEST = 1_000
_read = JSONDecoder().raw_decode
"""`json.loads` without its checks before and after, which cost more than parsing most jobs."""
_RESERVE = 4 * 2**20
"""Bytes that are reserved for reporting that memory is exhausted."""
_ROUNDS = 10
"""After that many runs the interpreter has specialised its bytecode."""


def prepare() -> None:
    """Configure the interpreter for user code, and warm it up; once, before it forks workers.

    The first run of any code path is slow: it happens here instead of in each worker.
    """
    configure_interpreter()
    for _ in range(_ROUNDS):
        warm_up(WHOLE)
        warm_up(FAILING)


def warm_up(code: str = WHOLE) -> None:
    """Run a job without effect.

    A fork shares pages with its parent until it writes to them, and Python writes to every object
    that it uses (reference counts). A warmed-up worker has its own copies of the pages that each
    job needs.
    """
    main = sys.modules["__main__"]
    try:
        Worker(WarmupChannel(code)).one_job()
    finally:
        sys.modules["__main__"] = main
        linecache.cache.pop(NAME, None)


def serve(
    channel_fd: int, *, waits: bool = False, prepare: Callable[[], None] | None = None
) -> None:
    """Run jobs until the host closes the channel; their variables are kept.

    Args:
        channel_fd: the descriptor of a stream socket, used only here.
        waits: no job waits for this worker, so that there is time to warm up.
        prepare: called once, after the first job has arrived and before its code runs.
    """
    if waits:
        warm_up()
    worker = Worker(Channel(channel_fd), prepare)
    with contextlib.suppress(ChannelClosed):
        while True:
            worker.one_job()


class Worker:
    """The state that jobs share."""

    def __init__(
        self, channel: Channel | WarmupChannel, prepare: Callable[[], None] | None = None
    ) -> None:
        self._channel = channel
        self._prepare = prepare
        self._cells: list[str] = []
        self._given: dict[str, Any] = {}
        self._reserve = MemoryReserve()
        # Classes look up their module by name.
        self._module = types.ModuleType("__main__")
        self._module.__dict__.pop("__loader__")
        self._module.__dict__.pop("__spec__")
        self._module.__dict__["__builtins__"] = __builtins__

    def one_job(self) -> None:
        """Run one job, or raise `ChannelClosed` if there are no more."""
        self._channel.send(READY, b"{}")
        text = self._channel.receive(JOB)[1]
        if self._prepare is not None:
            self._prepare()
            self._prepare = None
        job, _ = _read(text.decode())
        streams = [self._channel.receive(ATTACHMENT)[1] for _ in job["tables"]]
        body, attachments = self._answer(job, streams)
        self._channel.send(OUTCOME, body)
        for attachment in attachments:
            self._channel.send(ATTACHMENT, attachment)

    def _answer(self, job: dict[str, Any], streams: list[bytes]) -> tuple[bytes, list[Any]]:
        cell = CompiledSource(job["name"], job["code"])
        self._cells.append(cell.name)
        outcome = OutcomeBuilder(
            self._module.__dict__,
            self._given,
            limits=job["limits"],
            want=job["want"],
            cells=self._cells,
        )
        error: Fault | None = None
        try:
            self._furnish(job, streams)
            streams.clear()
            error = self._ran(cell, outcome)
            if error is None or error["kind"] != "memory_limit":
                outcome.locals()
                outcome.figures()
        except BaseException as problem:  # noqa: BLE001 - signal handlers of user code raise anywhere
            self._reserve.release()
            error = exception_fault(problem, self._cells)
        answer = outcome.frames(error)
        self._reserve.acquire()
        return answer

    def _furnish(self, job: dict[str, Any], streams: list[bytes]) -> None:
        sys.modules["__main__"] = self._module
        given: dict[str, Any] = {}
        if job["inputs"]:
            decoder = Decoder(nodes=2**62, depth=900, opaque=False)
            given |= {name: decoder.decode(item) for name, item in job["inputs"].items()}
        for name, stream in zip(job["tables"], streams, strict=True):
            given[name] = table.read_table(stream)
        if job["functions"]:
            caller = Caller(self._channel, job["limits"])
            for function in job["functions"]:
                given[function["name"]] = caller.function(function["name"], function["doc"])
            given["ToolError"] = ToolError
        self._given.update(given)
        self._module.__dict__.update(given)

    def _ran(self, cell: CompiledSource, outcome: OutcomeBuilder) -> Fault | None:
        try:
            cell.compile()
        except SyntaxError as problem:
            return syntax_fault(problem, cell.name)
        except BaseException as problem:  # noqa: BLE001 - the parser raises RecursionError and MemoryError too
            return self._fault_of(problem)
        value, raised = None, None
        try:
            value = cell.run(self._module.__dict__)
        except BaseException as problem:  # noqa: BLE001 - user code raises anything
            raised = problem
        for _ in range(3):
            # A trace function of the code sees these calls too, and may raise.
            try:
                _reset_interpreter()
                break
            except BaseException:  # noqa: BLE001, S112 - Python removes a trace function that raises
                continue
        if raised is not None:
            return self._fault_of(raised)
        if value is not None:
            # As in an interactive interpreter, for the next job of the session.
            self._module.__dict__["_"] = value
        outcome.value(value)
        return None

    def _fault_of(self, problem: BaseException) -> Fault:
        if issubclass(type(problem), MemoryError):
            self._reserve.release()
        found = exception_fault(problem, self._cells)
        # Its frames keep the objects of the code alive.
        problem.__traceback__ = None
        return found


class MemoryReserve:
    """Address space that is released when a job has exhausted the rest."""

    def __init__(self) -> None:
        self._held: Any = None
        self.acquire()

    def acquire(self) -> None:
        """Reserve memory, if there is any."""
        if self._held is not None:
            return
        try:
            import mmap

            private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._held = mmap.mmap(-1, _RESERVE, flags=private)
        except (ImportError, OSError, MemoryError):
            # The platform lacks it, or the session is at its limit.
            self._held = None

    def release(self) -> None:
        """Release the memory."""
        if self._held is not None:
            self._held.close()
            self._held = None


def configure_interpreter() -> None:
    """Configure the interpreter for user code."""
    figures.prepare(os.environ, warnings)
    # Arrow's other allocators reserve more address space than a job has.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    sys.argv = [""]
    for stream in (sys.stdout, sys.stderr):
        # Line-buffered, so that the output before a kill is not lost.
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )


def _reset_interpreter() -> None:
    """Remove tracing that user code installed, and flush its streams."""
    sys.settrace(None)
    sys.setprofile(None)
    if sys.getrecursionlimit() < _DEEPEST:
        sys.setrecursionlimit(_DEEPEST)
    streams = {id(it): it for it in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)}
    for stream in streams.values():
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]
