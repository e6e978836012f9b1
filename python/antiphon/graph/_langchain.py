"""LangChain parts within nodes: the run's settings reach them, and their tokens reach the stream.

Nothing here imports LangChain: who calls its models in a node has imported it before.
"""

from __future__ import annotations

import functools
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from antiphon.graph._handler import sign_handler, token_handler
from antiphon.graph._tokens import where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Context
    from antiphon.graph._tokens import Place, Tokens

__all__ = ["entering", "settings_of"]

_HERE: ContextVar[tuple[str, Mapping[str, Any]] | None] = ContextVar("antiphon_here", default=None)
# The run's id, and the settings as the node that runs here hands them on.


def entering(
    settings: Mapping[str, Any], watching: Sequence[Tokens], *, signs: bool
) -> Callable[[Context, Place], None] | None:
    """What is to be done before each node of a run; none if there is nothing.

    Args:
        settings: the run's config.
        watching: the streams that show messages.
        signs: whether nodes have to give signs of life.
    """
    if "langchain_core.runnables" not in sys.modules:
        return None
    # Within a node, LangChain would go on with the settings of that node.
    idle = not watching and not signs
    if idle and settings.get("callbacks") is None and _HERE.get() is None:
        return None
    makers = [functools.partial(_token_handler, tokens) for tokens in watching]
    return functools.partial(_enter, settings, [*makers, _sign_handler] if signs else makers)


def settings_of(ctx: Context) -> Mapping[str, Any] | None:
    """The settings that were made for the node of `ctx`, if any were."""
    here = _HERE.get()
    return here[1] if here is not None and here[0] == ctx.run_id else None


def _token_handler(tokens: Tokens, ctx: Context, place: Place) -> Any:
    return token_handler(ctx, place[0], tokens)


def _sign_handler(ctx: Context, place: Place) -> Any:
    del place
    return sign_handler(ctx)


def _enter(
    settings: Mapping[str, Any],
    makers: Sequence[Callable[[Context, Place], Any]],
    ctx: Context,
    place: Place,
) -> None:
    """Runs in the context variables of the node, before it."""
    metadata = {**settings["metadata"], **where(ctx.node, place)}
    own = {**settings, "metadata": metadata}
    if makers:
        handlers = [make(ctx, place) for make in makers]
        own["callbacks"] = _joined(settings.get("callbacks"), handlers)
    _HERE.set((ctx.run_id, own))
    sys.modules["langchain_core.runnables.config"].var_child_runnable_config.set(own)


def _joined(callbacks: Any, handlers: list[Any]) -> Any:
    """Handlers in addition to a list of them, or to a manager of LangChain's."""
    if callbacks is None:
        return handlers
    if isinstance(callbacks, list | tuple):
        return [*callbacks, *handlers]
    manager = callbacks.copy()
    for handler in handlers:
        manager.add_handler(handler, inherit=True)
    return manager
