"""A history is read as far as it is iterated, in memory that does not grow with the thread."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.torture import rounds

STEPS = rounds(3_000, 100_000)
READER = Path(__file__).with_name("history_reader.py")
BOUND = rounds(12 << 20, 256 << 20)
"""Bytes beside what the run itself took: those of some states, each with all its messages."""


def test_a_long_history_takes_no_more_memory_than_its_states(tmp_path: Path) -> None:
    command = [sys.executable, str(READER), f"sqlite:{tmp_path}/runs.db", str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert seen["steps"] == [*range(STEPS, -1, -1)]
    assert seen["lengths"] == seen["steps"]
    assert seen["grown"] < BOUND
