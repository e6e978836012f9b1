"""The processes below one, without those of the tests' database server."""

from __future__ import annotations

import contextlib
from pathlib import Path

# Its server starts and ends workers whenever it likes.
_NOT_OURS = "postgres"


def descendants(of: int) -> dict[int, str]:
    """All that descend from a process, and their names."""
    started = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # A name may have brackets and spaces in it.
            start, _, rest = path.read_text(encoding="utf-8").rpartition(")")
            name = start.partition("(")[2]
            if name != _NOT_OURS:
                started[int(path.parent.name)] = (int(rest.split()[1]), name)
    found: dict[int, str] = {}
    while more := {
        pid: name for pid, (up, name) in started.items() if up in {of, *found} and pid not in found
    }:
        found |= more
    return found
