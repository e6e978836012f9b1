"""An exclusive file lock that the operating system releases when its holder dies."""

from __future__ import annotations

import sys
from typing import IO

__all__ = ["try_lock"]

if sys.platform == "win32":
    import msvcrt

    def try_lock(file: IO[bytes]) -> bool:
        """Lock ``file`` until it is closed; ``False`` if another open file holds the lock."""
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(file: IO[bytes]) -> bool:
        """Lock ``file`` until it is closed; ``False`` if another open file holds the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
