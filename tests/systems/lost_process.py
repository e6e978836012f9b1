"""A process that works on a question in a thread, and may be killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = str(Path(__file__).parents[1])


def run_victim(victim: Path, folder: Path, *arguments: object) -> tuple[int, dict[str, Any] | None]:
    """How the script `victim` has ended in a folder, and its result, if it was not killed.

    Raises:
        AssertionError: it has failed.
    """
    command = [sys.executable, str(victim), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": TESTS}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL, -signal.SIGALRM), done.stderr.decode()
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None
