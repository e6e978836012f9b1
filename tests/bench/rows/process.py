"""What needs a separate process: the time of an import, the memory of a suspended run."""

import subprocess
import sys
from pathlib import Path

from bench.engine import OURS, THEIRS, Engine
from bench.row import Goal, Row, Sample

TESTS = Path(__file__).resolve().parents[2]
IMPORTED = {OURS: "antiphon", THEIRS: "langgraph.graph"}
TIMED = "from time import perf_counter as t; b = t(); import {module}; print(t() - b)"


def printed(*arguments: str) -> float:
    """The number that a fresh interpreter prints."""
    command = [sys.executable, *arguments]
    return float(
        subprocess.run(command, cwd=TESTS, check=True, capture_output=True, text=True).stdout
    )


def imported(engine: Engine) -> Sample:
    """Seconds of an import in a fresh process, outside of the interpreter's own start."""
    return lambda times: printed("-P", "-c", TIMED.format(module=IMPORTED[engine.impl.name]))


def parked(name: str) -> Sample:
    """KiB of one suspended run (see `parked.py`)."""
    return lambda times: printed("-m", "bench.parked", name)


ROWS = (
    Row(
        "import",
        "import of the package",
        "ms",
        1,
        floor=lambda _: None,
        engine=imported,
        gain=Goal(30, 12),
        absolute=Goal(15, 40),
        scale=1e3,
        once=True,
    ),
    Row(
        "parked",
        "suspended run (floor: coroutine)",
        "KiB",
        1,
        floor=lambda _: parked("floor"),
        engine=lambda engine: parked(engine.impl.name),
        times_floor=Goal(2, 4),
        gain=Goal(10, 5),
        scale=1,
        once=True,
    ),
)
