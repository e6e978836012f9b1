"""The worker's loop inside of WebAssembly, where each frame is one call of the host.

It is run there beside the guest's own files, and never on the host.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from typing import Any

READY, ASK = 0x53, 0x3F
"""What precedes a request: a frame's kind, or that the next frame is asked for."""

_worker: Any = None


def one_job(packages: list[str]) -> None:
    """Takes a job from the host and answers it; names that it assigns are kept for the next.

    Args:
        packages: names to import first.
    """
    global _worker  # noqa: PLW0603 - one per interpreter
    from _guest import memory_reserve, serve, table
    from _guest.frames import Closed

    for name in packages:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if _worker is None:
        serve.configure_interpreter()
        table.read_table, table.write_table = read_table, write_table
        # Its `mmap` knows no anonymous memory.
        memory_reserve.MemoryReserve.acquire = lambda _: None
        _worker = serve.Worker(HostRpc(Closed))
    with contextlib.suppress(Closed):
        _worker.one_job()


class HostRpc:
    """Frames by calls of the host; like `_guest.frames.Channel`.

    Args:
        closed: raised when the host has nothing more to say.
    """

    def __init__(self, closed: type[Exception]) -> None:
        import _host

        self._call = _host.call
        self._closed = closed

    def send(self, kind: int, body: bytes | memoryview) -> None:
        """Hands one frame to the host."""
        self._call(bytes([kind]) + bytes(body))

    def receive(self, *kinds: int) -> tuple[int, bytes]:
        """Asks for one frame of these kinds."""
        answer = bytes(self._call(bytes([ASK, *kinds])))
        if not answer:
            raise self._closed
        return answer[0], answer[1:]


def read_table(stream: bytes) -> Any:
    """A table that came as columns: there is no library for Arrow here."""
    from _guest.decode import Decoder

    columns = Decoder(nodes=2**62, depth=900, opaque=False).decode(json.loads(stream))
    if "pandas" not in sys.modules:
        return columns
    import pandas as pd

    return pd.DataFrame(columns)


def write_table(frame: Any, limit: int) -> Any:
    """A data frame as columns; the host makes Arrow of them.

    Raises:
        OverflowError: it takes more bytes.
    """
    from _guest import table
    from _guest.budget import Budget, TooLarge
    from _guest.encode import Encoder

    frame = table.flat(frame)
    budget = Budget(bytes=limit, nodes=4_000_000, depth=64)
    names = table.column_names(frame.columns)
    columns = [frame.iloc[:, at].tolist() for at in range(frame.shape[1])]
    try:
        encoded = Encoder(budget).encode([names, columns])
        text = budget.text_of(encoded)
    except TooLarge as problem:
        raise OverflowError from problem
    return table.Table(len(frame), len(names), text.encode())
