"""A little memory that is kept for telling that there is none."""

from __future__ import annotations

from typing import Any

_SIZE = 4 * 1024 * 1024


class MemoryReserve:
    """Addresses that nobody uses, until a job has used up all others."""

    def __init__(self) -> None:
        self._held: Any = None
        self.acquire()

    def acquire(self) -> None:
        """Sets memory aside again, if there is any."""
        if self._held is not None:
            return
        try:
            import mmap

            private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._held = mmap.mmap(-1, _SIZE, flags=private)
        except (ImportError, OSError, MemoryError):
            # A platform without it, or a session at its limit.
            self._held = None

    def release(self) -> None:
        """Lets go of it."""
        if self._held is not None:
            self._held.close()
            self._held = None
