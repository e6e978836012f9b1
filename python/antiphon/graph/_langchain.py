"""LangChain parts within nodes: their settings, and their tokens in streams.

Nothing here imports LangChain: who calls its models in a node has imported it before.
"""

from __future__ import annotations

import functools
import sys
import types
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from antiphon.graph._tokens import where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon._antiphon import Context
    from antiphon.graph._tokens import TaskPosition, Tokens

    _StartTask = Callable[[str, TaskPosition, dict[str, Any], Any], Any]

_HERE: ContextVar[tuple[str, Mapping[str, Any], Any] | None] = ContextVar(
    "antiphon_here", default=None
)
# The run's id, the settings as the node that runs here sees them, and the callbacks among them
# that also concern the graphs that it invokes.


def entering(
    settings: Mapping[str, Any],
    watching: Sequence[Tokens],
    *,
    progress: bool,
    start_task: _StartTask | None,
) -> Callable[[Context, TaskPosition, Any], None] | None:
    """The hook before each node of a run, if one is needed.

    `start_task` reports a task to the trace, and returns its callbacks.
    """
    if "langchain_core.runnables" not in sys.modules:
        return None
    # Within a node, LangChain would use the settings of that node.
    if not watching and not progress and start_task is None and _HERE.get() is None:
        return None
    makers: list[Callable[[Context], Any]] = [progress_handler] if progress else []
    makers += [functools.partial(token_handler, tokens) for tokens in watching]
    return functools.partial(_enter, settings, (makers, start_task))


def settings_of(ctx: Context) -> Mapping[str, Any] | None:
    """The settings for the node of `ctx`, if there are any."""
    here = _HERE.get()
    return here[1] if here is not None and here[0] == ctx.run_id else None


def handed_on(settings: Mapping[str, Any], ctx: Context) -> Mapping[str, Any]:
    """The settings of a run for a graph that the node of `ctx` invokes."""
    here = _HERE.get()
    if here is None or here[0] != ctx.run_id:
        return settings
    return {**settings, "callbacks": here[2]}


def without_tokens(callbacks: Any) -> Any:
    """The callbacks that a node passed on, without the handlers of its tokens."""
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
    position: TaskPosition,
    given: Any,
) -> None:
    """Runs in the context variables of the node, before it."""
    makers, start_task = about
    metadata = {**settings["metadata"], **where(ctx.node, position)}
    own = {**settings, "metadata": metadata}
    if start_task is not None:
        own["callbacks"] = start_task(ctx.node, position, metadata, given)
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


_NOSTREAM = "nostream"
_BOOKKEEPING = "seq:step"  # how LangChain's sequences tag their steps


class TokenHandler:
    """Streams the replies of chat models that a node calls; half of a callback handler."""

    run_inline = True  # on the caller's thread, so that tokens keep their order

    def __init__(self, ctx: Context, tokens: Tokens) -> None:
        self._ctx = ctx
        self._tokens = tokens
        self._calls: dict[Any, dict[str, Any]] = {}

    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        """Returns a stream unchanged."""
        del run_id
        return output

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        """Returns a stream unchanged."""
        del run_id
        return output

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: Any,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Records a call, unless its tags or the place of its node exclude it from streams."""
        del serialized, messages, kwargs
        own = [tag for tag in tags or () if not tag.startswith(_BOOKKEEPING)]
        if _NOSTREAM not in own and self._tokens.shows(self._ctx.path):
            self._calls[run_id] = {**(metadata or {}), **({"tags": own} if own else {})}

    def on_llm_new_token(
        self, token: Any, *, chunk: Any = None, run_id: Any, **kwargs: Any
    ) -> None:
        """Streams a chunk."""
        del token, kwargs
        message = getattr(chunk, "message", None)
        if message is not None and run_id in self._calls:
            self._tokens.is_new(message)
            self._show(message, self._calls[run_id])

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Streams the reply of a model that does not stream."""
        del kwargs
        metadata = self._calls.pop(run_id, None)
        replies = response.generations[0] if response.generations else ()
        message = getattr(replies[0], "message", None) if replies else None
        if metadata is not None and message is not None and self._tokens.is_new(message):
            self._show(message, metadata)

    def on_llm_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        """Drops a call."""
        del error, kwargs
        self._calls.pop(run_id, None)

    def _show(self, message: Any, metadata: dict[str, Any]) -> None:
        self._ctx.token(self._tokens, (message, metadata))


class ProgressHandler:
    """Takes callbacks of LangChain parts for progress of their node; half of a handler."""

    run_inline = True

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def _note_progress(self, *_: Any, **__: Any) -> None:
        self._ctx.progress()

    on_chat_model_start = on_llm_start = on_llm_new_token = on_llm_end = _note_progress
    on_chain_start = on_chain_end = on_tool_start = on_tool_end = _note_progress
    on_retriever_start = on_retriever_end = on_retry = on_text = on_custom_event = _note_progress


def token_handler(tokens: Tokens, ctx: Context) -> TokenHandler:
    """A `TokenHandler` that LangChain takes for one of its handlers."""
    return cast("TokenHandler", _mixed(TokenHandler)(ctx, tokens))


def progress_handler(ctx: Context) -> ProgressHandler:
    """A `ProgressHandler` that LangChain takes for one of its handlers."""
    return cast("ProgressHandler", _mixed(ProgressHandler)(ctx))


@functools.cache
def _mixed(kind: type) -> type:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers._streaming import _StreamingCallbackHandler

    # The last parent makes models stream even if they are only invoked.
    return types.new_class(kind.__name__, (kind, BaseCallbackHandler, _StreamingCallbackHandler))
