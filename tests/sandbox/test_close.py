"""Closing a sandbox ends all that it has started, even while somebody waits for it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.errors import SandboxCancelled, ValidationError
from antiphon.sandbox import Limits, Sandbox
from sandbox.conftest import Boxes
from support.processes import descendants
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.filterwarnings("ignore:code runs in a sandbox without")
_TIMEOUT = 60
_LONG = Limits(wall=120)


def _named(call: Any) -> Any:
    def started() -> None:
        call()

    return started


def _left(before: Iterable[int], engine: str) -> set[int]:
    """Processes that are there and were not before; Monty's pool ends its own a moment later."""

    def left() -> set[int]:
        return descendants(os.getpid()).keys() - before

    happens(lambda: not left(), seconds=_TIMEOUT if engine == "monty" else 0)
    return left()


def _running(box: Sandbox, run: Any) -> tuple[threading.Thread, list[Any]]:
    """A thread that runs an endless loop, once that has started, and what comes of it."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(run("started()\nwhile True: pass")))
    thread.start()
    return thread, found


def test_sessions_runs_and_spares_end_and_waiters_get_an_error(boxes: Boxes) -> None:
    before, started = descendants(os.getpid()), threading.Semaphore(0)
    box = boxes(tools=[_named(started.release)], limits=_LONG)
    idle, busy = box.session(), box.session()
    idle.run("kept = 1")
    waiting = [_running(box, box.run), _running(box, busy.run)]
    for _ in waiting:
        assert started.acquire(timeout=_TIMEOUT)
    box.close()
    assert not _left(before, box.engine)
    for thread, found in waiting:
        thread.join(_TIMEOUT)
        [result] = found
        assert (result.error.kind, result.error.code) == ("closed", "sandbox_closed")
        with pytest.raises(SandboxCancelled):
            result.check()
    for run in (box.run, idle.run, busy.run):
        with pytest.raises(ValidationError) as caught:
            run("1")
        assert caught.value.code == "sandbox_closed"
    box.close()
    idle.close()


def test_a_tool_may_close_the_sandbox_that_calls_it(boxes: Boxes) -> None:
    before = descendants(os.getpid())
    made: list[Sandbox] = []

    def started() -> None:
        made[0].close()

    made.append(boxes(tools=[started], limits=_LONG))
    result = made[0].session().run("started()\nwhile True: pass")
    assert result.error is not None
    assert result.error.code == "sandbox_closed"
    # The tool has its own thread, which may still be busy.
    made[0].close()
    assert not _left(before, made[0].engine)


@pytest.mark.parametrize("engine", ["process", "subprocess"])
def test_a_sandbox_is_closed_while_it_starts(engine: Any) -> None:
    before = descendants(os.getpid())
    # Its packages take a while to import.
    packages = ["pandas", "matplotlib"]
    box = Sandbox(engine, packages=packages, limits=_LONG, i_accept_no_isolation=True)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(box.run("1")))
    thread.start()
    while not descendants(os.getpid()).keys() - before:
        pass
    box.close()
    assert not descendants(os.getpid()).keys() - before
    thread.join(_TIMEOUT)
    assert found[0].error.code == "sandbox_closed"


def test_a_sandbox_that_is_forgotten_ends_its_sessions(boxes: Boxes) -> None:
    before = descendants(os.getpid())
    made = boxes()
    engine: Any = made.engine
    made.close()
    box = Sandbox(engine, i_accept_no_isolation=True)
    session = box.session()
    session.run("1")
    del box, session
    gc.collect()
    assert not _left(before, engine)


_EXITS = """
import sys, threading
from antiphon.sandbox import Limits, Sandbox
happened = threading.Event()
def started():
    happened.set()
box = Sandbox(sys.argv[1], tools=[started], limits=Limits(wall=120), i_accept_no_isolation=True)
session = box.session()
session.run("1")
def run():
    box.run("started()\\nwhile True: pass")
threading.Thread(target=run, daemon=True).start()
happened.wait()
print("leaves", flush=True)
"""


@pytest.mark.parametrize("engine", ["process", "subprocess"])
def test_an_interpreter_that_exits_leaves_no_worker(engine: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _EXITS, engine]
    # A process that is left would keep its end of the pipe open.
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    assert (done.returncode, done.stdout) == (0, "leaves\n"), done.stderr
