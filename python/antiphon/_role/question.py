"""One question under way, as the Python code of its roles is called for it."""

from __future__ import annotations

import asyncio
import inspect
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

from antiphon import _event_loop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Question", "Stoppable", "waited"]


class Stoppable(Protocol):
    """A call that the engine makes: it says when nobody waits for it any more."""

    def when_cancelled(self, callback: Callable[[], object]) -> None:
        """Has `callback` called then, on some thread."""


class Question:
    """Calls code for a question, in a copy of the context variables of whoever put it.

    Args:
        loop: where coroutines run. Default: a loop of antiphon's own, on its thread.
    """

    __slots__ = ("_loop", "_variables")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop
        self._variables = copy_context()

    def call(self, function: Callable[..., Any], *given: Any, on: Stoppable) -> Any:
        """What `function` returns, also if it has to be awaited.

        Args:
            function: the code.
            *given: its arguments.
            on: the engine's call; once nobody waits for it, a coroutine is cancelled.
        """
        variables = self._variables.copy()
        return variables.run(waited, variables.run(function, *given), on, self._loop)


def waited(reply: Any, on: Stoppable, loop: asyncio.AbstractEventLoop | None = None) -> Any:
    """What a call gave, awaited where it has to be.

    Args:
        reply: a value, or an awaitable.
        on: the engine's call; once nobody waits for it, the awaitable is cancelled.
        loop: where it is awaited. Default: a loop of antiphon's own.
    """
    if not inspect.isawaitable(reply):
        return reply

    async def wait() -> Any:
        return await reply

    future = asyncio.run_coroutine_threadsafe(wait(), loop or _event_loop.running())
    on.when_cancelled(future.cancel)
    return future.result()
