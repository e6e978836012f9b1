"""Memory that is reserved for reporting that memory is exhausted."""

from __future__ import annotations

from typing import Any

_SIZE = 4 * 1024 * 1024


class MemoryReserve:
    """Address space that is released when a job has exhausted the rest."""

    def __init__(self) -> None:
        self._held: Any = None
        self.acquire()

    def acquire(self) -> None:
        """Reserve memory, if there is any."""
        if self._held is not None:
            return
        try:
            import mmap

            private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            self._held = mmap.mmap(-1, _SIZE, flags=private)
        except (ImportError, OSError, MemoryError):
            # The platform lacks it, or the session is at its limit.
            self._held = None

    def release(self) -> None:
        """Release the memory."""
        if self._held is not None:
            self._held.close()
            self._held = None
