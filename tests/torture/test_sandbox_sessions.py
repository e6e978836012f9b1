"""Sessions whose code continues after its outcome, and sandboxes that are closed at any instant."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox import Limits, Sandbox
from sandbox.test_frozen import FORGED, state
from support.engines import needs
from support.processes import descendants
from support.torture import rounds
from support.waiting import take_time

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = needs("process")

_TIMEOUT = 60
_CONTINUES = [
    "while True: pass",
    "import time\ntime.sleep(300)",
    "while True: os.write(1, b'x' * 1000)",
    "while True: os.write(3, b'\\0' * 1000)",
    "os.kill(os.getpid(), 9)",
    "os._exit(0)",
    "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
]


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _used(pids: Iterable[int]) -> dict[int, int]:
    """Processor time in ticks of those that are there and not stopped."""
    found = {}
    for pid in pids:
        try:
            found[pid] = state(Path(f"/proc/{pid}"))[1]
        except OSError:
            continue
    return found


def test_sessions_that_continue_after_a_forged_outcome_take_nothing_between_runs() -> None:
    chance = random.Random(12)
    with Sandbox("process", limits=Limits(wall=0.3, cpu=1)) as box:
        box.run("1")
        for _ in range(rounds(10, 400)):
            with box.session() as session:
                session.run("kept = 1").check()
                assert session.run(FORGED + chance.choice(_CONTINUES)).value == 1
                workers = descendants(os.getpid())
                before = _used(workers)
                take_time(0.05)
                after = _used(workers)
                # Spares are forked meanwhile; a loop would have taken five ticks.
                assert all(after[pid] - ticks < 4 for pid, ticks in before.items() if pid in after)
                again = session.run("kept")
                assert again.error is None or again.error.kind in {
                    "time_limit",
                    "crashed",
                    "output_limit",
                }
        assert box.run("2").value == 2


def test_a_sandbox_closed_at_any_instant_leaves_nothing() -> None:
    chance, before = random.Random(34), descendants(os.getpid())
    Sandbox("process").close()
    fds = _descriptors()
    for turn in range(rounds(6, 300)):
        box = Sandbox("process", limits=Limits(wall=60))
        if turn % 3:
            box.run("1")
        codes: list[Any] = []
        users = [
            threading.Thread(target=_use, args=(box, kind, codes))
            for kind in ("run", "session", "idle", "many")
        ]
        for user in users:
            user.start()
        take_time(chance.expovariate(1 / 0.1))
        closers = [threading.Thread(target=box.close) for _ in range(2)]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join(_TIMEOUT)
        assert not descendants(os.getpid()).keys() - before
        for user in users:
            user.join(_TIMEOUT)
            assert not user.is_alive()
        assert len(codes) == len(users)
        assert {*codes} == {"sandbox_closed"}
    del box, users, closers
    assert _descriptors() <= fds


def _use(box: Sandbox, kind: str, codes: list[Any]) -> None:
    """Uses a sandbox in one way until it is closed, and adds how that was reported."""
    try:
        session = box.session()
        run = box.run if kind in {"run", "many"} else session.run
        while True:
            code = "while True: pass" if kind in {"run", "session"} else "1"
            error = run(code).error
            if error is not None:
                codes.append(error.code)
                return
            if kind == "idle":
                take_time(0.01)
    except (ValidationError, SandboxUnavailable) as error:
        codes.append(error.code)
