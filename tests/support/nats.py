"""A real NATS server on loopback, with its data in a folder of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self

from support.waiting import happens

PASSWORD = "hunter2-of-the-queue"
CREDENTIALS = Path(__file__).with_name("worker.creds")
"""Of a user of the operator; its key is for tests alone."""
_OPERATOR = Path(__file__).with_name("operator.conf")


def free_port() -> int:
    """A port of this machine on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class NatsServer:
    """A server that can be killed and come back; a context manager.

    Args:
        folder: where its data are.
        of_operator: whether it takes users of an operator, with `CREDENTIALS`, and no password.
        writes_at_once: whether it answers only once the disk has what it says.
    """

    def __init__(
        self, folder: Path, *, of_operator: bool = False, writes_at_once: bool = False
    ) -> None:
        self._folder = folder
        password = ["--user", "worker", "--pass", PASSWORD]
        self._options = ["-c", str(_OPERATOR)] if of_operator else password
        if writes_at_once:
            settings = folder / "server.conf"
            settings.write_text("jetstream { sync_interval: always }")
            self._options += ["-c", str(settings)]
        self.port = free_port()
        self.url = f"nats://worker:{PASSWORD}@127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.come_back()
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()

    def come_back(self) -> None:
        """Start it on the data that it has, and wait until it answers."""
        beside = Path(sys.executable).with_name("nats-server")
        program = os.environ.get("ANTIPHON_NATS_SERVER", str(beside))
        self._process = subprocess.Popen(
            [
                *(program, "-js", "-a", "127.0.0.1", "-p", str(self.port)),
                *(*self._options, "-sd", str(self._folder)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert happens(self._answers, 10), "the server has not started"

    def kill(self) -> None:
        """Kill it; return once it is gone."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
