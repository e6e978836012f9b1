"""Commands of ``antiphon`` in processes that are forked from one that has imported it.

A command in a new interpreter spends most of its time on imports. A fork has its own
descriptors, environment, folder and exit code, as any process has.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

PYTHON = str(Path(__file__).parents[2] / "python")
_ENOUGH = 60


def kept_environment() -> dict[str, str]:
    """What of this process's environment a command may know."""
    return {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}


class CommandServer:
    """Forks a process for each command; a context manager."""

    def __init__(self) -> None:
        self._environment = kept_environment()
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            env={**self._environment, "PYTHONPATH": PYTHON},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=_ENOUGH)

    def run(
        self, *arguments: str, folder: Path | None = None, variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, in its own folder and with its own environment variables."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as outputs:
            job = {
                "arguments": arguments,
                "folder": str(folder or Path.cwd()),
                "environment": {**self._environment, **variables},
                "outputs": outputs,
            }
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            code = int(self._server.stdout.readline())
            out, error = (
                Path(outputs, name).read_text(encoding="utf-8") for name in ("out", "error")
            )
        return subprocess.CompletedProcess(list(arguments), code, out, error)


def _serve() -> None:
    """Fork for each line of the input, and print the exit code."""
    # All that commands load where they need it; none of it starts a thread.
    for name in ("asyncio", "checkpoint", "cli", "graph", "local", "models", "systems"):
        importlib.import_module(name if name == "asyncio" else f"antiphon.{name}")
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(job)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(job: dict[str, Any]) -> None:
    """Be the process of a command, which ends here."""
    signal.alarm(_ENOUGH)
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "error")):
        os.dup2(os.open(Path(job["outputs"], name), os.O_WRONLY | os.O_CREAT), number)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = os.fdopen(0, encoding=encoding, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding=encoding, closefd=False)
    # As `python -m antiphon` has it.
    sys.path[0] = job["folder"]
    sys.argv = ["antiphon", *job["arguments"]]
    runpy.run_module("antiphon", run_name="__main__", alter_sys=True)
    raise SystemExit


if __name__ == "__main__":
    _serve()
