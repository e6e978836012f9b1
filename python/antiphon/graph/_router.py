"""Routers: functions that say where a conditional edge leads."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from antiphon.graph._inject import Action, read_action

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["read_router"]


def read_router(path: Any) -> Action:
    """Prepares a router.

    The engine asks routers at once, between two supersteps. An async one is run to its end
    on an event loop of its own meanwhile: it may await, but nothing that belongs to the loop
    of the caller.

    Raises:
        TypeError: it cannot be called.
    """
    action = read_action(path)
    if not action.asynchronous:
        return action
    return Action(_waiting(action.call), wants_ctx=action.wants_ctx, asynchronous=False)


def _waiting(call: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    def ask(*arguments: Any) -> Any:
        import asyncio  # 20 ms that only async routers need
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1, "antiphon-router") as thread:
            return thread.submit(copy_context().run, asyncio.run, call(*arguments)).result()

    return ask
