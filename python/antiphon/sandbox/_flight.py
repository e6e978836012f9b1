"""A run on a thread of its own, awaited from an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.sandbox._engines import Stopper

__all__ = ["awaited"]

_T = TypeVar("_T")
_LAST = 1.0
"""Seconds for which a cancelled run is waited for; its worker is killed at once."""


async def awaited(work: Callable[[], _T], stopper: Stopper) -> _T:
    """Does blocking work on a thread; being cancelled stops it.

    Args:
        work: what blocks.
        stopper: makes it end soon.

    Returns:
        What the work gave.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(give: Callable[[Any], None], found: Any) -> None:
        if not future.done():
            give(found)

    def serve() -> None:
        try:
            found: tuple[Callable[[Any], None], Any] = (future.set_result, work())
        except BaseException as error:  # noqa: BLE001 - it is passed on
            found = (future.set_exception, error)
        # Whoever has stopped waiting may have closed the loop.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *found)

    threading.Thread(target=serve, name="antiphon-sandbox-run", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stopper.stop("the caller cancelled")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({future}, timeout=_LAST)
        if future.done() and not future.cancelled():
            future.exception()  # it is nobody's any more
        raise
