"""Python's side of `system_calls.c`: count, kill at and record the calls that change a store."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
MANNERS = ("before", "after", "torn")
"""When a process dies: before the call, after it, or after half of what it was to write."""
_HEAD = struct.Struct("<cHqI")


def compile_library(folder: Path) -> Path:
    """Compile the library; where antiphon was built, `cc` has linked it."""
    library = folder / "system_calls.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-o", str(library)]
    subprocess.run([*command, str(SOURCE), "-ldl", "-pthread"], check=True)
    return library


@dataclass(frozen=True)
class Kill:
    """Where a process dies.

    Attributes:
        at: the number of the call, counted from 1; 0 is none of them.
        manner: one of `MANNERS`.
    """

    at: int = 0
    manner: str = "before"


class SystemCalls:
    """The preloaded library, in the process that it counts in.

    Args:
        prefix: what the paths of the store's files begin with, or `None` for what is sent over TCP.
        kill: where this process dies.
        record: the file that the calls are recorded in, if any.
    """

    def __init__(self, prefix: str | None, kill: Kill, record: str | None = None) -> None:
        self._library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self._library.calls_counted.restype = ctypes.c_long
        descriptor = -1
        if record is not None:
            descriptor = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._library.calls_watch(
            prefix and prefix.encode(),
            ctypes.c_long(kill.at),
            ctypes.c_char(kill.manner[:1].encode()),
            descriptor,
        )

    @property
    def count(self) -> int:
        """The calls so far."""
        return int(self._library.calls_counted())

    def acknowledge(self, text: str) -> None:
        """Record that a caller was informed that something is done."""
        self._library.calls_acknowledge(text.encode())


@dataclass(frozen=True)
class Call:
    """A recorded call, or an acknowledgement.

    Attributes:
        kind: ``create``, ``write``, ``truncate``, ``sync``, ``unlink`` or ``acknowledge``.
        path: the file; the text of an acknowledgement.
        offset: where it writes; the new size of a file that is truncated.
        data: what it writes.
    """

    kind: str
    path: str
    offset: int
    data: bytes


_KINDS = {
    kind[:1].encode(): kind
    for kind in ("create", "write", "truncate", "sync", "unlink", "acknowledge")
}


def read_record(path: Path) -> list[Call]:
    """The calls of a record, in their order."""
    data, place, calls = path.read_bytes(), 0, []
    while place < len(data):
        kind, name, offset, size = _HEAD.unpack_from(data, place)
        start = place + _HEAD.size
        place = start + name + size
        calls.append(
            Call(
                _KINDS[kind],
                data[start : start + name].decode(),
                offset,
                data[place - size : place],
            )
        )
    return calls
