"""A lock on a file that the operating system frees when its holder dies."""

from __future__ import annotations

import sys
from typing import IO

__all__ = ["try_lock"]

if sys.platform == "win32":
    import msvcrt

    def try_lock(file: IO[bytes]) -> bool:
        """Locks ``file`` until it is closed; false when another opening of it holds the lock."""
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(file: IO[bytes]) -> bool:
        """Locks ``file`` until it is closed; false when another opening of it holds the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
