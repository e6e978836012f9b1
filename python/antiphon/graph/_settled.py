"""Nodes whose calls beside a question end before the run pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphInterrupt
from antiphon._node.human_input import Round
from antiphon._pause import pause_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Context

__all__ = ["settled"]


def settled(node: Callable[..., Any], *, asynchronous: bool) -> Callable[..., Any]:
    """A node that makes calls, and leaves with a question only once none is under way.

    Args:
        node: takes the state and the context.
        asynchronous: whether calling it gives a coroutine.
    """

    def call(state: Any, ctx: Context) -> Any:
        try:
            return node(state, ctx)
        except GraphInterrupt as pause:
            Round.of(ctx).settle(_question(pause))
            raise

    async def acall(state: Any, ctx: Context) -> Any:
        try:
            return await node(state, ctx)
        except (GraphInterrupt, BaseExceptionGroup) as left:
            pause = pause_in(left, GraphInterrupt)
            if pause is None:
                raise
        await Round.of(ctx).settle_async(_question(pause))
        raise pause

    return acall if asynchronous else call


def _question(pause: GraphInterrupt) -> Any:
    return pause.interrupts[0].value if pause.interrupts else None
