"""Between two runs of a session its worker does nothing, even if the code left threads behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.sandbox import Limits, Sandbox
from support.engines import needs
from support.processes import descendants
from support.waiting import happens, take_time

pytestmark = [
    needs("process"),
    pytest.mark.filterwarnings("ignore:code runs in a sandbox without"),
]

FORGED = """
import os
body = b'{"value": 1}'
os.write(3, (len(body) + 1).to_bytes(4, "little") + b"O" + body)
"""
"""Says its outcome itself; what follows it belongs to no job."""
_WALL = 2.0


@pytest.fixture(params=["process", "subprocess"])
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    limits = Limits(wall=_WALL, cpu=1)
    with Sandbox(request.param, limits=limits, i_accept_no_isolation=True) as made:
        yield made


def state(about: Path) -> tuple[str, int]:
    """Its state, and the processor time that it has had, in ticks."""
    fields = (about / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return fields[0], int(fields[11]) + int(fields[12])


def stopped_since(before: dict[int, str]) -> list[Path]:
    """The stopped ones among the processes that are new."""
    new = [Path(f"/proc/{pid}") for pid in descendants(os.getpid()).keys() - before]
    return [about for about in new if state(about)[0] == "T"]


def test_code_that_continues_after_its_outcome_is_stopped_until_the_next_run(box: Sandbox) -> None:
    before = descendants(os.getpid())
    with box.session() as session:
        assert session.run("import time, os\nos.getpid()").ok
        # The signal that stops it is delivered after the outcome.
        assert happens(lambda: stopped_since(before))
        [about] = stopped_since(before)
        assert session.run(FORGED + "while True: pass").value == 1
        assert happens(lambda: state(about)[0] == "T")
        used = state(about)[1]
        assert not happens(lambda: state(about) != ("T", used), seconds=0.1)
        error = session.run("1").error
        assert error is not None
        assert error.kind == "time_limit"


def test_the_next_run_waits_no_longer_than_a_run_may_take(box: Sandbox) -> None:
    with box.session() as session:
        assert session.run(FORGED + "import time\ntime.sleep(300)").value == 1
        error = session.run("1").error
        assert error is not None
        assert (error.kind, str(error)) == (
            "time_limit",
            "the previous run continued for more than 2s",
        )


def test_timers_of_a_run_do_not_fire_before_the_next(box: Sandbox) -> None:
    before = descendants(os.getpid())
    with box.session() as session:
        code = "import os, signal, time\nfired = []\n"
        code += "signal.signal(signal.SIGALRM, lambda *_: fired.append(1))\n"
        assert session.run(code + "signal.setitimer(signal.ITIMER_REAL, 0.02)").ok
        assert happens(lambda: stopped_since(before))
        # Its timer runs out meanwhile.
        take_time(0.1)
        assert session.run("len(fired)").value <= 1
        assert session.run("fired.clear()\nsum(range(10))").value == 45


def test_names_are_kept_over_a_rest(box: Sandbox) -> None:
    with box.session() as session:
        for turn in range(50):
            assert session.run(f"kept = {turn}").ok
            assert session.run("kept").value == turn
