"""LangChain parts within nodes: the run's settings reach them, and their tokens reach the stream.

Nothing here imports LangChain: who calls its models in a node has imported it before.
"""

from __future__ import annotations

import functools
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from antiphon.graph._handler import TokenHandler, sign_handler, token_handler
from antiphon.graph._tokens import where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Context
    from antiphon.graph._tokens import Place, Tokens

    _StartTask = Callable[[str, Place, dict[str, Any], Any], Any]

__all__ = ["entering", "handed_on", "settings_of", "without_tokens"]

_HERE: ContextVar[tuple[str, Mapping[str, Any], Any] | None] = ContextVar(
    "antiphon_here", default=None
)
# The run's id, the settings as the node that runs here sees them, and the callbacks among them
# that also concern the graphs that it invokes.


def entering(
    settings: Mapping[str, Any],
    watching: Sequence[Tokens],
    *,
    signs: bool,
    start_task: _StartTask | None,
) -> Callable[[Context, Place, Any], None] | None:
    """What is to be done before each node of a run; none if there is nothing.

    Args:
        settings: the run's config.
        watching: the streams that show messages.
        signs: whether nodes have to give signs of life.
        start_task: tells the trace of the run that a task begins, if there is one; gives the
            callbacks for it.
    """
    if "langchain_core.runnables" not in sys.modules:
        return None
    # Within a node, LangChain would go on with the settings of that node.
    if not watching and not signs and start_task is None and _HERE.get() is None:
        return None
    makers: list[Callable[[Context], Any]] = [sign_handler] if signs else []
    makers += [functools.partial(token_handler, tokens) for tokens in watching]
    return functools.partial(_enter, settings, (makers, start_task))


def settings_of(ctx: Context) -> Mapping[str, Any] | None:
    """The settings that were made for the node of `ctx`, if any were."""
    here = _HERE.get()
    return here[1] if here is not None and here[0] == ctx.run_id else None


def handed_on(settings: Mapping[str, Any], ctx: Context) -> Mapping[str, Any]:
    """The settings of a run for a graph that the node of `ctx` invokes."""
    here = _HERE.get()
    if here is None or here[0] != ctx.run_id:
        return settings
    return {**settings, "callbacks": here[2]}


def without_tokens(callbacks: Any) -> Any:
    """Callbacks that a node has handed on by itself, but for those of its own tokens."""
    if isinstance(callbacks, list | tuple):
        return [handler for handler in callbacks if not isinstance(handler, TokenHandler)]
    handlers = getattr(callbacks, "handlers", ())
    if not any(isinstance(handler, TokenHandler) for handler in handlers):
        return callbacks
    manager = callbacks.copy()
    for handler in handlers:
        if isinstance(handler, TokenHandler):
            manager.remove_handler(handler)
    return manager


def _enter(
    settings: Mapping[str, Any],
    about: tuple[Sequence[Callable[[Context], Any]], _StartTask | None],
    ctx: Context,
    place: Place,
    given: Any,
) -> None:
    """Runs in the context variables of the node, before it."""
    makers, start_task = about
    metadata = {**settings["metadata"], **where(ctx.node, place)}
    own = {**settings, "metadata": metadata}
    if start_task is not None:
        own["callbacks"] = start_task(ctx.node, place, metadata, given)
    callbacks = own.get("callbacks")
    if makers:
        handlers = [make(ctx) for make in makers]
        own["callbacks"] = _joined(callbacks, handlers)
    _HERE.set((ctx.run_id, own, callbacks))
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
