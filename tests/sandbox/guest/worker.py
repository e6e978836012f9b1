"""A real worker without a jail, and the host's side of its channel."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

GUEST = Path(__file__).resolve().parents[3] / "python/antiphon/sandbox/_guest"
LIMITS = {
    "value_bytes": 1 << 20,
    "value_nodes": 100_000,
    "value_depth": 64,
    "local_names": 200,
    "local_bytes": 64 << 10,
    "locals_bytes": 1 << 20,
    "tables": 8,
    "table_bytes": 64 << 20,
    "tables_bytes": 128 << 20,
    "figures": 10,
    "figure_bytes": 5 << 20,
    "figures_bytes": 20 << 20,
    "figure_pixels": 16 << 20,
    "argument_bytes": 1 << 20,
}
_BOOT = """
import importlib.util, sys
guest, descriptor, waits, before, *packages = sys.argv[1:]
sys.path += packages
spec = importlib.util.spec_from_file_location(
    "_guest", guest + "/__init__.py", submodule_search_locations=[guest]
)
sys.modules["_guest"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from _guest.serve import prepare, serve
exec(before)
prepare()
serve(int(descriptor), waits=waits == "waits")
"""
_EMPTY: dict[str, Any] = {
    "locals": {},
    "local_errors": {},
    "tables": [],
    "table_errors": {},
    "figures": 0,
    "error": None,
}
"""What an outcome does not name."""
_TIMEOUT = 60
PACKAGES = [entry for entry in sys.path if entry.endswith("site-packages")]


class Worker:
    """A child that serves jobs; a context manager.

    Args:
        packages: let it import what this interpreter can.
        before: code that the child runs before it serves.
        waits: it rehearses as a spare does.
    """

    def __init__(self, *, packages: bool = False, before: str = "", waits: bool = False) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_TIMEOUT)
        self.socket = ours
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
        command = [sys.executable, "-I", "-S", "-c", _BOOT, str(GUEST)]
        self.process = subprocess.Popen(
            [
                *command,
                str(theirs.fileno()),
                "waits" if waits else "",
                before,
                *(PACKAGES if packages else []),
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            env={},
        )
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        try:
            self.process.wait(_TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            self._out.close()
            self._err.close()

    @property
    def stdout(self) -> str:
        """What it printed up to now."""
        return _text(self._out.fileno())

    @property
    def stderr(self) -> str:
        """What it printed to standard error up to now."""
        return _text(self._err.fileno())

    def run(self, code: str, **fields: Any) -> dict[str, Any]:
        """Runs code and returns the outcome, with `attachments`.

        Args:
            code: of the user.
            fields: of the job; `tables` is a dict of names and streams, `limits` only those that
                differ, `functions` a dict of names and callables for tagged arguments.
        """
        assert self.frame() == ("S", b"{}")
        self.send("J", self.job(code, **fields))
        for stream in fields.get("tables", {}).values():
            self.send("A", stream)
        return self._outcome(fields.get("functions", {}))

    def job(self, code: str, **fields: Any) -> bytes:
        """The body of a job, from the arguments of `run`."""
        job = {
            "code": code,
            "name": "<cell 1>",
            "want": ["value", "locals", "tables", "figures"],
            "inputs": {},
            **fields,
            "tables": list(fields.get("tables", {})),
            "functions": [
                {"name": name, "doc": f"Asks {name}."} for name in fields.get("functions", {})
            ],
            "limits": LIMITS | fields.get("limits", {}),
        }
        return json.dumps(job).encode()

    def _outcome(self, functions: dict[str, Callable[..., Any]]) -> dict[str, Any]:
        while True:
            kind, body = self.frame()
            message = json.loads(body)
            if kind == "O":
                break
            assert kind == "C", kind
            function = functions[message["name"]]
            try:
                reply = {"value": function(*message["args"], **message["kwargs"])}
            except LookupError as problem:
                reply = {"error": {"type": type(problem).__name__, "message": str(problem)}}
            self.send("R", json.dumps({"id": message["id"], **reply}).encode())
        message = {**_EMPTY, **message}
        count = len(message["tables"]) + message["figures"]
        message["attachments"] = [self.frame()[1] for _ in range(count)]
        return dict(message)

    def send(self, kind: str, body: bytes) -> None:
        """Sends one frame."""
        self.socket.sendall(struct.pack("<IB", len(body) + 1, ord(kind)) + body)

    def frame(self) -> tuple[str, bytes]:
        """Takes one frame: the letter of its kind, its body."""
        length, kind = struct.unpack("<IB", self._exactly(5))
        return chr(kind), self._exactly(length - 1)

    def _exactly(self, length: int) -> bytes:
        body = b""
        while len(body) < length:
            piece = self.socket.recv(min(length - len(body), 1 << 20))
            if not piece:
                raise EOFError(self.stderr)
            body += piece
        return body


def once(code: str, *, packages: bool = False, **fields: Any) -> dict[str, Any]:
    """The outcome of one run in a separate worker."""
    with Worker(packages=packages) as worker:
        return worker.run(code, **fields)


def _text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode()
