"""One event loop on a thread of its own, for async code called from sync code."""

from __future__ import annotations

import asyncio
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def running() -> asyncio.AbstractEventLoop:
    """Give the loop, starting its thread at the first call.

    A caller may be inside a running loop of its own (a notebook cell) and
    still wait here, because nothing of this one runs on the caller's thread.
    """
    global _loop  # noqa: PLW0603 - one per process, on purpose
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="antiphon-loop", daemon=True).start()
        return _loop
