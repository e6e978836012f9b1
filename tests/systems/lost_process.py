"""A process that works on a question in a thread, and may be killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

TESTS = str(Path(__file__).parents[1])
BY_CLOCK = (signal.SIGKILL, signal.SIGALRM)
"""What ends a process that also calls `die_after`."""


def run_victim(
    victim: Path, folder: Path, *arguments: object, signals: Container[int] = (signal.SIGKILL,)
) -> tuple[int, dict[str, Any] | None]:
    """How the script `victim` has ended in a folder, and its result, if it was not killed.

    Args:
        victim: the script.
        folder: where it runs.
        arguments: its arguments.
        signals: those that may end it.

    Raises:
        AssertionError: it has failed, or another signal has ended it.
    """
    command = [sys.executable, str(victim), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": TESTS}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 or -done.returncode in signals, done.stderr.decode()
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None
