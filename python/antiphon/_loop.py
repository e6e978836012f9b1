"""One event loop on a thread of its own, for async code called from sync code."""

from __future__ import annotations

import asyncio
import os
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _forget() -> None:
    """A fork has none of its parent's threads: it gets a loop of its own."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


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
