"""States that are one bare value: what a node returns is the value itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Command
from antiphon._state_schema import ROOT
from antiphon.graph._inject import Action

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["returning_root"]


def returning_root(action: Action) -> Action:
    """An action whose bare return value becomes the update of the root value."""
    inner = action.call
    if action.asynchronous:

        async def acall(*arguments: Any) -> Any:
            awaitable: Awaitable[Any] = inner(*arguments)
            return _as_update(await awaitable)

        return Action(acall, wants_ctx=action.wants_ctx, asynchronous=True)

    def call(*arguments: Any) -> Any:
        return _as_update(inner(*arguments))

    return Action(call, wants_ctx=action.wants_ctx, asynchronous=False)


def _as_update(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple) and any(isinstance(item, Command) for item in value):
        return [_as_update(item) for item in value]
    if not isinstance(value, Command):
        return {ROOT: value}
    if value.update is None or value.graph is not None:
        return value
    return Command(update={ROOT: value.update}, goto=value.goto)
