"""Thousands of runs of all kinds, from many sides at once, leave nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.engines import probe

pytestmark = pytest.mark.slow

_MANY = Path(__file__).with_name("many_runs.py")
RUNS = int(os.environ.get("ANTIPHON_RUNS", "400"))
_ENDS = {
    "cancelled",
    "crashed",
    "denied",
    "host_call_failed",
    "host_call_limit",
    "memory_limit",
    "output_limit",
    "python_error",
    "recursion_limit",
    "result_too_large",
    "syntax_error",
    "time_limit",
    "value",
}
_GROWTH = 16 * 2**20


def test_many_runs_leave_no_process_descriptor_file_mount_group_or_memory_behind() -> None:
    if missing := probe("process")["missing"]:
        pytest.skip(f"the jail cannot be had here: {missing}")
    done = subprocess.run(
        [sys.executable, str(_MANY), str(RUNS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    print(done.stdout)
    assert found["surprises"] == []
    assert set(found["ends"]) == _ENDS
    assert sum(found["ends"].values()) >= RUNS
    # With the sandbox open: a zygote, its guard and two spares, after each so many runs.
    assert found["last"] == found["first"]
    assert len(found["last"]["processes"]) == 4
    assert found["after"] == found["before"]
    assert (found["after"]["processes"], found["after"]["files"]) == ([], [])
    start, end = found["memory"]
    assert end - start < _GROWTH
