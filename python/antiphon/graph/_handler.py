"""Tokens of LangChain's chat models, on their way to a stream.

Nothing here imports LangChain before a node may call its models.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from antiphon._antiphon import Context
    from antiphon.graph._tokens import Tokens

__all__ = ["SignHandler", "TokenHandler", "sign_handler", "token_handler"]

_NOSTREAM = "nostream"
_BOOKKEEPING = "seq:step"  # how LangChain's sequences tag their steps


class TokenHandler:
    """Shows what the chat models that one node calls write; half of a callback handler.

    Args:
        ctx: the node's context.
        tokens: the stream that shows it.
    """

    run_inline = True  # on the caller's thread, so that tokens keep their order

    def __init__(self, ctx: Context, tokens: Tokens) -> None:
        self._ctx = ctx
        self._tokens = tokens
        self._calls: dict[Any, dict[str, Any]] = {}

    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        """Leaves a stream that the node reads itself as it is."""
        del run_id
        return output

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        """Leaves a stream that the node reads itself as it is."""
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
        """Notes a call, unless its tags keep it out of streams."""
        del serialized, messages, kwargs
        own = [tag for tag in tags or () if not tag.startswith(_BOOKKEEPING)]
        if _NOSTREAM not in own:
            self._calls[run_id] = {**(metadata or {}), **({"tags": own} if own else {})}

    def on_llm_new_token(
        self, token: Any, *, chunk: Any = None, run_id: Any, **kwargs: Any
    ) -> None:
        """Shows a piece."""
        del token, kwargs
        message = getattr(chunk, "message", None)
        if message is not None and run_id in self._calls:
            self._tokens.is_new(message)
            self._show(message, self._calls[run_id])

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Shows the reply of a model that does not stream."""
        del kwargs
        metadata = self._calls.pop(run_id, None)
        replies = response.generations[0] if response.generations else ()
        message = getattr(replies[0], "message", None) if replies else None
        if metadata is not None and message is not None and self._tokens.is_new(message):
            self._show(message, metadata)

    def on_llm_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        """Forgets a call."""
        del error, kwargs
        self._calls.pop(run_id, None)

    def _show(self, message: Any, metadata: dict[str, Any]) -> None:
        self._ctx.token(self._tokens, (message, metadata))


class SignHandler:
    """Takes whatever LangChain parts do for a sign that their node is alive; half of a handler.

    Args:
        ctx: the node's context.
    """

    run_inline = True

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def _sign(self, *_: Any, **__: Any) -> None:
        self._ctx.progress()

    on_chat_model_start = on_llm_start = on_llm_new_token = on_llm_end = _sign
    on_chain_start = on_chain_end = on_tool_start = on_tool_end = _sign
    on_retriever_start = on_retriever_end = on_retry = on_text = on_custom_event = _sign


def token_handler(tokens: Tokens, ctx: Context) -> TokenHandler:
    """A `TokenHandler` that LangChain takes for one of its handlers."""
    return cast("TokenHandler", _mixed(TokenHandler)(ctx, tokens))


def sign_handler(ctx: Context) -> SignHandler:
    """A `SignHandler` that LangChain takes for one of its handlers."""
    return cast("SignHandler", _mixed(SignHandler)(ctx))


@functools.cache
def _mixed(kind: type) -> type:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers._streaming import _StreamingCallbackHandler

    # By the last parent a model knows that it is to stream even where nobody asks it to.
    return types.new_class(kind.__name__, (kind, BaseCallbackHandler, _StreamingCallbackHandler))
