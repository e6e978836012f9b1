"""What the cases run in: the public sandbox, or nothing at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from antiphon import _antiphon
from antiphon.sandbox import Limits, Sandbox, _guest
from antiphon.sandbox._job import tag
from antiphon.sandbox._outcome import decode_value, result_of
from sandbox.corpus.host import add, echo
from sandbox.corpus.verdict import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.sandbox import SandboxResult
    from sandbox.corpus.verdict import Bounds

# Its stub may be older than it is.
_native: Any = _antiphon
_FUNCTIONS: dict[str, Callable[..., Any]] = {"add": add, "echo": echo}
_CHILD = Path(__file__).with_name("plain.py")


class Engine(Protocol):
    """Something that runs the runs of a case, each in a clean interpreter."""

    scratch: str

    def run(self, code: str) -> Seen:
        """Runs code and tells what came of it."""

    def close(self) -> None:
        """Ends everything that it started."""


class Native:
    """An engine of the native half, read as the public sandbox reads it.

    Args:
        name: `process` or `subprocess`.
        bounds: what a run may take.
        without: layers that are off, for showing what each is worth: no setting of users'.
        granted: a folder that it may read.
    """

    def __init__(self, name: str, bounds: Bounds, *, without: Sequence[str], granted: Path) -> None:
        self.scratch = "/scratch" if name == "process" else ""
        self._box = _native.NativeSandbox(
            {
                "engine": name,
                "python": sys.executable,
                "guest": str(Path(str(_guest.__file__)).parent),
                "native": str(_antiphon.__file__),
                "limits": {"wall": bounds.seconds, "memory": bounds.memory >> 1},
                "without": list(without),
                "mounts": {"read": [str(granted)], "files": []},
            }
        )

    def run(self, code: str) -> Seen:
        """As `Engine`."""
        job = {
            "code": code,
            "name": "<cell 1>",
            "want": ["value", "locals", "tables", "figures"],
            "inputs": {},
            "tables": {},
            "functions": [{"name": name, "doc": ""} for name in _FUNCTIONS],
        }
        started = time.monotonic()
        result = result_of(self._box.run(job, _called, None))
        return _seen(result, time.monotonic() - started)

    def close(self) -> None:
        """As `Engine`."""
        self._box.close()


class Faced:
    """Any engine, by the public sandbox.

    Args:
        name: the engine's.
        bounds: what a run may take.
    """

    def __init__(self, name: Any, bounds: Bounds) -> None:
        self.scratch = ""
        self._box = Sandbox(
            name,
            limits=Limits(wall=bounds.seconds, memory=bounds.memory >> 1),
            tools=list(_FUNCTIONS.values()),
        )

    def run(self, code: str) -> Seen:
        """As `Engine`."""
        started = time.monotonic()
        result = self._box.run(code)
        return _seen(result, time.monotonic() - started)

    def close(self) -> None:
        """As `Engine`."""
        self._box.close()


class Plain:
    """No sandbox: a child with the rights of its parent, and the host's functions inside."""

    def __init__(self, bounds: Bounds) -> None:
        self.scratch = ""
        self._seconds = bounds.seconds
        self._state: dict[str, Any] = {}

    def run(self, code: str) -> Seen:
        """As `Engine`."""
        started = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            close_fds=False,
            start_new_session=True,
            env=os.environ.copy(),
        )
        try:
            out, _ = child.communicate(code.encode(), timeout=self._seconds + 0.5)
        except subprocess.TimeoutExpired:
            child.kill()
            out, _ = child.communicate()
            return Seen("time_limit", "", out.decode(errors="replace"), 0)
        for left in Path(tempfile.gettempdir()).iterdir():
            # The repository may be mounted there, which nobody can remove.
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        text, _, tail = out.decode(errors="replace").rpartition("\x1e")
        try:
            report = json.loads(tail)
        except ValueError:
            return Seen("crashed", "", text + tail)
        said = f"{report['value']}\n{text}"
        return Seen(report["error"], said, report["message"], time.monotonic() - started)

    def close(self) -> None:
        """As `Engine`."""


def _called(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    given = [decode_value(item) for item in args]
    named = {key: decode_value(item) for key, item in kwargs.items()}
    return tag(_FUNCTIONS[name](*given, **named), 1 << 20)


def _seen(result: SandboxResult, seconds: float) -> Seen:
    error = result.error
    return Seen(
        "none" if error is None else error.kind,
        f"{result.value!r}\n{result.stdout}",
        f"{result.stderr}\n{result.locals!r}\n{error}",
        seconds,
        result.usage.memory or 0,
    )
