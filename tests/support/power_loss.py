"""What a disk holds after a power loss, by a record of the system calls before it."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path

from support.system_calls import Call

SECTORS = (512, 4096)


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[Call] = field(default_factory=list)


class Disk:
    """Files and their unsynced writes.

    A file that was created is there. One that was unlinked may reappear until anything is synced:
    file systems log changes of folders in order, and a sync of any file flushes that log.
    """

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._unlinked: dict[str, _File] = {}

    def apply(self, call: Call) -> None:
        """Make a recorded call."""
        if call.kind == "sync":
            self._unlinked.clear()
            file = self._files.get(call.path, _File())
            for change in file.unsynced:
                _change(file.durable, change, 0, len(change.data))
            file.unsynced.clear()
        elif call.kind == "create":
            self._files[call.path] = _File()
            self._unlinked.pop(call.path, None)
        elif call.kind == "unlink":
            self._unlinked[call.path] = self._files.pop(call.path)
        elif call.kind in {"write", "truncate"} and call.path in self._files:
            self._files[call.path].unsynced.append(call)

    def lose_power(self, folder: Path, chance: random.Random) -> None:
        """Write files as they may be found after that."""
        survival = chance.choice((0.0, 0.3, 0.7, 0.95, 1.0))
        sector = chance.choice(SECTORS)
        found = dict(self._files)
        if chance.random() < 0.5:
            found |= self._unlinked
        for path, file in found.items():
            content = bytearray(file.durable)
            for change in file.unsynced:
                for begin, end in _pieces(change, sector):
                    if chance.random() < survival:
                        _change(content, change, begin, end)
            (folder / Path(path).name).write_bytes(content)


def _pieces(change: Call, sector: int) -> list[tuple[int, int]]:
    """The parts of a write that are durable or not each by itself."""
    first = sector - change.offset % sector
    bounds = [0, *range(first, len(change.data), sector), len(change.data)]
    return list(itertools.pairwise(bounds))


def _change(content: bytearray, change: Call, begin: int, end: int) -> None:
    size = change.offset if change.kind == "truncate" else change.offset + end
    if change.kind == "truncate":
        del content[size:]
    content.extend(bytes(max(0, size - len(content))))
    content[change.offset + begin : change.offset + end] = change.data[begin:end]
