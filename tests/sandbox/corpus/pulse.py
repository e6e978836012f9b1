"""Notices when the machine itself stood still: that is nobody's overrun."""

from __future__ import annotations

import threading
import time

_BEAT = 0.05
_STALL = 0.25


class Pulse:
    """A thread that wants to wake up often, and adds up how much later it was let."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stood = 0.0
        self._last = time.monotonic()
        self._over = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def stood(self) -> float:
        """Seconds that nothing ran in this process since it was last asked."""
        with self._lock:
            # The caller may have woken up before the thread did.
            self._note()
            stood, self._stood = self._stood, 0.0
            return stood

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            with self._lock:
                self._note()

    def _note(self) -> None:
        last, self._last = self._last, time.monotonic()
        late = self._last - last - _BEAT
        if late > _STALL:
            self._stood += late
