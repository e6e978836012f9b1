"""How Python awaits a native system: a cancellation waits until the question has ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import CancellationToken

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["await_result"]


async def await_result(
    ask: Callable[[CancellationToken], Any], token: CancellationToken | None = None
) -> dict[str, Any]:
    """The native result of a question.

    Args:
        ask: puts the question, with the token that cancels it, and returns an awaitable.
        token: the token. Default: a new one.
    """
    token = token or CancellationToken()
    asked = ask(token)
    try:
        answer: dict[str, Any] = await asyncio.shield(asked)
    except asyncio.CancelledError:
        token.cancel("cancelled")
        # Its thread is free, and its worker gone, once it has ended, which does not take long.
        # A loop that is being closed cancels twice.
        while not asked.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([asked])
        asked.exception()  # what it came to nobody wants any more
        raise
    return answer
