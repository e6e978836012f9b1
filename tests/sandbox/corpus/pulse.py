"""Notices when the machine itself stood still: that is nobody's overrun."""

from __future__ import annotations

import threading
import time

_BEAT = 0.05
_STALL = 0.25


class Pulse:
    """A thread that wants to wake up often, and adds up how much later it was let."""

    def __init__(self) -> None:
        self._stood = 0.0
        threading.Thread(target=self._beat, daemon=True).start()

    def stood(self) -> float:
        """Seconds that nothing ran in this process since it was last asked."""
        stood, self._stood = self._stood, 0.0
        return stood

    def _beat(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(_BEAT)
            late = time.monotonic() - before - _BEAT
            if late > _STALL:
                self._stood += late
