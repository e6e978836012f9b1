"""What a case may harm: canaries beside the sandbox, and who notices when one is touched."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Self

MARK = "c4n4ry"
"""How the token begins; cases look for it reversed, so that their own text never matches."""


class Ground:
    """Canaries for the cases; a context manager.

    Args:
        folder: where they are put.

    Attributes:
        token: the secret that must not come out.
        granted: a folder for sandboxes to show read-only; what is closed in it must stay so.
    """

    def __init__(self, folder: str) -> None:
        self.token = MARK + secrets.token_hex(12)
        self._room = Path(tempfile.mkdtemp(prefix="corpus-", dir=folder))
        self._room.chmod(0o755)
        self._canary = self._room / "canary"
        self._canary.write_text(self.token, encoding="ascii")
        self._outside = self._room / "outside"
        self._outside.mkdir()
        self._open = contextlib.ExitStack()
        self.granted = self._room / "granted"
        self._grant()
        self._touched: list[str] = []
        # A sandbox must not hand it on.
        self._descriptor = os.open(self._canary, os.O_RDONLY)
        os.set_inheritable(self._descriptor, True)
        os.environ["ANTIPHON_CANARY"] = self.token
        self._victim = self._new_victim()
        self._port = self._tcp_and_udp()
        self._listen(socket.AF_UNIX, str(self._room / "socket"))
        self._listen(socket.AF_UNIX, "\0" + self._room.name)
        self._take(socket.AF_UNIX, str(self._room / "socket.datagrams"))
        self._take(socket.AF_UNIX, f"\0{self._room.name}.datagrams")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._victim.kill()
        self._victim.wait()
        self._open.close()
        os.close(self._descriptor)
        del os.environ["ANTIPHON_CANARY"]
        (self.granted / "locked").chmod(0o700)
        shutil.rmtree(self._room)

    def places(self, scratch: str) -> dict[str, str]:
        """What stands for each placeholder of a case.

        Args:
            scratch: the job's own directory, or nothing.
        """
        return {
            "CANARY_FILE": str(self._canary),
            "OUTSIDE_DIR": str(self._outside),
            "GRANTED_DIR": str(self.granted),
            "CANARY_PORT": str(self._port),
            "CANARY_SOCK": str(self._room / "socket"),
            "CANARY_ABSTRACT": self._room.name,
            "CANARY_FD": str(self._descriptor),
            "VICTIM_PID": str(self._victim.pid),
            "SCRATCH": scratch,
        }

    def harm(self) -> list[str]:
        """What was touched since it was last asked; everything is put in order again."""
        found, self._touched = [f"a connection to {name}" for name in self._touched], []
        for path in self._outside.iterdir():
            found.append(f"a file outside: {path.name}")
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if self._changed():
            found.append("the canary file was changed")
            self._canary.unlink(missing_ok=True)
            self._canary.write_text(self.token, encoding="ascii")
        if self._victim.poll() is not None or self._is_stopped():
            found.append("the victim is dead or stopped")
            self._victim.kill()
            self._victim.wait()
            self._victim = self._new_victim()
        return found

    def _grant(self) -> None:
        locked, pipe = self.granted / "locked", self.granted / "pipe"
        locked.mkdir(parents=True)
        (locked / "inside").write_text("open to all", encoding="ascii")
        (self.granted / "closed").write_text(self.token, encoding="ascii")
        os.mkfifo(pipe)
        # A writer finds a reader.
        self._open.callback(os.close, os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        for closed in (locked, self.granted / "closed"):
            closed.chmod(0)

    def _changed(self) -> bool:
        try:
            state = self._canary.stat()
            return self._canary.read_text(encoding="ascii") != self.token or bool(
                state.st_mode & 0o022
            )
        except (OSError, ValueError):
            return True

    def _is_stopped(self) -> bool:
        stat = Path(f"/proc/{self._victim.pid}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] in {"T", "t", "Z"}

    def _new_victim(self) -> subprocess.Popen[bytes]:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)

    def _tcp_and_udp(self) -> int:
        port = int(self._listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1])
        self._take(socket.AF_INET, ("127.0.0.1", port))
        return port

    def _take(self, family: int, address: str | tuple[str, int]) -> None:
        taker = self._open.enter_context(socket.socket(family, socket.SOCK_DGRAM))
        taker.bind(address)
        self._watch(f"{address!r}", taker)

    def _listen(self, family: int, address: str | tuple[str, int]) -> socket.socket:
        listener = self._open.enter_context(socket.socket(family))
        listener.bind(address)
        listener.listen()
        self._watch(f"{address!r}", listener)
        return listener

    def _watch(self, name: str, listener: socket.socket) -> None:
        def wait() -> None:
            with contextlib.suppress(OSError):
                while True:
                    if listener.type == socket.SOCK_DGRAM:
                        listener.recv(100)
                    else:
                        listener.accept()[0].close()
                    self._touched.append(name)

        threading.Thread(target=wait, daemon=True).start()
