"""The parent's side of the child process: start it, wait until it is ready, stop it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from antiphon.errors import ModelTransportError
from antiphon.local.extra import extra_missing

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ServerProcess"]

_WORKER = Path(__file__).with_name("worker.py")
_LOG_LINES = 40
_LINE_CHARS = 400
_STOP_SECONDS = 5.0
_POLL = 0.1


class ServerProcess:
    """A child process that runs the model.

    Args:
        settings: the input of ``worker.py``; sent through a pipe, because other users could
            read the key in arguments or the environment.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._owner = os.getpid()
        self._secret = str(settings["api_key"])
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._child = subprocess.Popen(  # noqa: S603 - a fixed command
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Neither Ctrl-C nor a notebook's interrupt, both sent to the group, reach it.
            start_new_session=True,
        )
        self._readers = (
            _read_along(self._child.stdout, self._answers.put),
            _read_along(self._child.stderr, self._keep),
        )
        try:
            self._send(settings)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether the child runs; false in a fork of the process that started it."""
        return os.getpid() == self._owner and self._child.poll() is None

    def log(self) -> str:
        """Return the last lines that the child printed, without the key."""
        return "\n".join(list(self._log)).replace(self._secret, "***")

    def wait_ready(self, seconds: float) -> str:
        """Wait until the model is loaded and healthy; return its address.

        Raises:
            ModelTransportError: ``local_server_failed`` when the child ended,
                ``local_server_timeout``.
            ValidationError: ``local_runtime_missing``.
        """
        deadline = time.monotonic() + seconds
        answer = self._answer(deadline, seconds)
        if "missing" in answer:
            raise extra_missing("xllamacpp", answer["missing"])
        address = answer["address"]
        while not _healthy(address):
            self._check(deadline, seconds)
            time.sleep(_POLL)
        return address

    def stop(self) -> None:
        """Stop the child; does nothing in a fork of the process that started it."""
        if os.getpid() != self._owner:
            return
        self._child.terminate()
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for reader in self._readers:
            reader.join(_STOP_SECONDS)
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                _close(stream)

    def _send(self, settings: dict[str, Any]) -> None:
        pipe = self._child.stdin
        if pipe is None:
            return
        try:
            pipe.write(json.dumps(settings).encode() + b"\n")
            pipe.flush()
        except BrokenPipeError:
            # The child has exited; waiting for its answer raises the reason.
            return

    def _answer(self, deadline: float, seconds: float) -> dict[str, str]:
        while True:
            try:
                left = deadline - time.monotonic()
                line = self._answers.get(timeout=min(max(left, 0.0), _POLL))
            except queue.Empty:
                self._check(deadline, seconds)
                continue
            if not line:
                raise self._failed()
            answer: dict[str, str] = json.loads(line)
            return answer

    def _check(self, deadline: float, seconds: float) -> None:
        if self._child.poll() is not None and self._answers.empty():
            raise self._failed()
        if time.monotonic() >= deadline:
            raise ModelTransportError(
                f"the local model was not loaded within {seconds:g} s: {self._last_line()}",
                code="local_server_timeout",
                details={"log": self.log()},
                hint="use a smaller model, or give a longer `load_timeout`",
            )

    def _failed(self) -> ModelTransportError:
        # Its output may end a moment before the child does.
        status = self._child.wait()
        self._readers[1].join(_STOP_SECONDS)
        return ModelTransportError(
            f"the local model's process ended with status {status}: {self._last_line()}",
            code="local_server_failed",
            details={"status": status, "log": self.log()},
            hint="the file may be damaged, not supported by this xllamacpp, or larger than the"
            " memory; `details['log']` has its last lines",
        )

    def _last_line(self) -> str:
        lines = [line for line in self.log().splitlines() if line.strip()]
        return lines[-1] if lines else "no output"

    def _keep(self, line: bytes) -> None:
        self._log.append(line.decode("utf-8", errors="replace").rstrip()[:_LINE_CHARS])


def _read_along(stream: IO[bytes] | None, take: Callable[[bytes], object]) -> threading.Thread:
    """Pass each line of ``stream`` to ``take``, then an empty one."""

    def read() -> None:
        if stream is not None:
            for line in stream:
                take(line)
        take(b"")

    thread = threading.Thread(target=read, name="antiphon-local", daemon=True)
    thread.start()
    return thread


def _healthy(address: str) -> bool:
    # Not urllib: a proxy named in the environment must not see loopback requests.
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        # The child exited before it had read its settings.
        return
