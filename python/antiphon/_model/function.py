"""A function as a model."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.errors import ModelOutputError

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionModel:
    """Asks a function on behalf of the engine.

    Args:
        function: takes the request, a dict with ``messages`` and, where there are any,
            ``tools``, ``schema`` and ``temperature``; returns a text, or a dict with ``text``,
            ``tool_calls``, ``usage`` and ``model``. A generator yields the text piece by
            piece, and may yield such a dict at its end.
    """

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """What traces call it."""
        return f"function:{getattr(self._function, '__name__', type(self._function).__name__)}"

    def __call__(self, request: dict[str, Any], ctx: Listener) -> Any:
        """One request of the engine, answered; an awaitable if the function is asynchronous.

        Args:
            request: the request.
            ctx: is shown the pieces of the reply, if somebody watches.
        """
        reply = self._function(request)
        if inspect.isgenerator(reply):
            pieces = _Pieces(ctx)
            for piece in reply:
                pieces.take(piece)
            return pieces.whole()
        if inspect.isasyncgen(reply):
            return self._gathered(reply, _Pieces(ctx))
        return self._later(reply) if inspect.isawaitable(reply) else read_reply(reply)

    async def _later(self, reply: Any) -> Any:
        return read_reply(await reply)

    async def _gathered(self, reply: Any, pieces: _Pieces) -> Any:
        async for piece in reply:
            pieces.take(piece)
        return pieces.whole()


class Listener(Protocol):
    """Whoever is shown the pieces of a reply: the context of a node or of a call."""

    @property
    def watched(self) -> bool:
        """Whether somebody wants to see them."""

    def chunk(self, text: str) -> None:
        """Shows one."""


class _Pieces:
    """A reply that comes in pieces: texts, and at the end a dict with the rest."""

    def __init__(self, ctx: Listener) -> None:
        self._show = ctx.chunk if ctx.watched else None
        self._texts: list[str] = []
        self._rest: dict[str, Any] | None = None

    def take(self, piece: Any) -> None:
        if self._rest is not None or not isinstance(piece, str | dict):
            found = type(piece).__name__ if self._rest is None else "something after the dict"
            raise ModelOutputError(
                f"a function that stands for a model has to yield texts, and at most one dict "
                f"at its end, found: {found}",
                code="model_reply_malformed",
            )
        if isinstance(piece, dict):
            self._rest = piece
            return
        self._texts.append(piece)
        if self._show is not None:
            self._show(piece)

    def whole(self) -> Any:
        return read_reply({"text": "".join(self._texts), **(self._rest or {})})


def is_asynchronous(function: Any) -> bool:
    """Whether calling it gives a coroutine."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def answers_later(function: Any) -> bool:
    """Whether its reply has to be awaited: of a coroutine or an asynchronous generator."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    generates = inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(call)
    return generates or is_asynchronous(function)


def read_reply(reply: Any) -> Any:
    """What a function returned, as the engine reads it.

    Raises:
        ModelOutputError: it is neither a text nor a dict of the known fields
            (``model_reply_malformed``).
    """
    if isinstance(reply, str):
        return str(reply)
    known = {"text", "tool_calls", "finish", "usage", "model"}
    if not isinstance(reply, dict) or not set(reply) <= known:
        found = sorted(set(reply) - known) if isinstance(reply, dict) else type(reply).__name__
        raise ModelOutputError(
            f"a function that stands for a model returned neither a text nor a reply: {found}",
            code="model_reply_malformed",
            hint=f"return a text, or a dict with some of {', '.join(sorted(known))}",
        )
    calls = [_call(call, place) for place, call in enumerate(reply.get("tool_calls") or (), 1)]
    return {**reply, "text": reply.get("text") or "", "tool_calls": calls}


def _call(call: dict[str, Any], place: int) -> dict[str, str]:
    given = call.get("arguments") or {}
    return {
        "id": call.get("id") or f"call_{place}",
        "name": call["name"],
        "arguments": given if isinstance(given, str) else json.dumps(given, ensure_ascii=False),
    }
