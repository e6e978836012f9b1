"""A function as a model."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from antiphon.errors import ModelOutputError

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionModel:
    """Asks a function on behalf of the engine.

    Args:
        function: takes the request, a dict with ``messages`` and, where there are any,
            ``tools``, ``schema`` and ``temperature``; returns a text, or a dict with ``text``,
            ``tool_calls``, ``usage`` and ``model``.
    """

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function

    def __call__(self, request: dict[str, Any]) -> Any:
        """One request of the engine, answered; an awaitable if the function is asynchronous."""
        reply = self._function(request)
        return self._later(reply) if inspect.isawaitable(reply) else read_reply(reply)

    async def _later(self, reply: Any) -> Any:
        return read_reply(await reply)


def is_asynchronous(function: Any) -> bool:
    """Whether calling it gives a coroutine."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


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
