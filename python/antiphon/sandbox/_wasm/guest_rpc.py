"""The guest's side of the protocol: the worker's loop in WebAssembly, one host call per frame.

It runs there, with the guest's own files, and never on the host.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from typing import Any

READY, ASK = 0x53, 0x3F
"""The first byte of a request: the kind of a frame, or a request for the next frame."""

_worker: Any = None


def one_job(packages: list[str]) -> None:
    """Import packages, and run one job of the host; its variables are kept for the next."""
    global _worker  # noqa: PLW0603 - one per interpreter
    from _guest import serve, table
    from _guest.frames import ChannelClosed

    for name in packages:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if _worker is None:
        serve.configure_interpreter()
        table.read_table, table.write_table = read_table, write_table
        # There is no anonymous `mmap` here.
        serve.MemoryReserve.acquire = lambda _: None
        _worker = serve.Worker(HostRpc(ChannelClosed))
    with contextlib.suppress(ChannelClosed):
        _worker.one_job()


class HostRpc:
    """Frames as calls of the host; the interface of `_guest.frames.Channel`."""

    def __init__(self, closed: type[Exception]) -> None:
        import _host

        self._call = _host.call
        self._closed = closed

    def send(self, kind: int, body: bytes | memoryview) -> None:
        """Send one frame to the host."""
        self._call(bytes([kind]) + bytes(body))

    def receive(self, *kinds: int) -> tuple[int, bytes]:
        """Request one frame of these kinds."""
        answer = bytes(self._call(bytes([ASK, *kinds])))
        if not answer:
            raise self._closed
        return answer[0], answer[1:]


def read_table(stream: bytes) -> Any:
    """Decode a table that was sent as columns: there is no Arrow library here."""
    from _guest.decode import Decoder

    columns = Decoder(nodes=2**62, depth=900, opaque=False).decode(json.loads(stream))
    if "pandas" not in sys.modules:
        return columns
    import pandas as pd

    return pd.DataFrame(columns)


def write_table(frame: Any, limit: int) -> Any:
    """Encode a data frame as columns of at most `limit` bytes; the host converts it to Arrow."""
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
