"""Who plays a role, as the engine takes it."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from antiphon import _loop
from antiphon._team.use import use
from antiphon.errors import ValidationError
from antiphon.models import Model, model
from antiphon.tools import Tool, ToolContext, encode_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["as_role", "as_tools"]


def as_role(name: str, given: Any) -> dict[str, Any]:
    """A model, or a callable of the brief.

    Raises:
        ValidationError: it is neither (``role_invalid``), or as `antiphon.models.model`.
    """
    if isinstance(given, str):
        given = model(given)
    if isinstance(given, Model):
        return {"model": given, "prompt": None}
    if callable(given) and not isinstance(given, type):
        return {"act": _acting(given), "tools": []}
    raise ValidationError(
        f"the {name} has to be a model's name, a model or a function: {type(given).__name__}",
        code="role_invalid",
        details={"role": name},
        hint='for instance "openai:gpt-5-mini", `antiphon.models.scripted([...])`, or a function '
        "that takes the brief and returns the reply",
    )


def as_tools(given: Iterable[Any]) -> list[tuple[Any, Callable[..., Any]]]:
    """Tools with what calls them: their specs, and callables of arguments and call."""
    return [(tool.spec, _using(tool)) for tool in Tool.collect(given)]


def _acting(function: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    def act(brief: dict[str, Any]) -> Any:
        reply = function(brief)
        return encode_result(_waited(reply) if inspect.isawaitable(reply) else reply)

    return act


def _waited(awaitable: Any) -> Any:
    async def wait() -> Any:
        return await awaitable

    return asyncio.run_coroutine_threadsafe(wait(), _loop.running()).result()


def _using(tool: Tool) -> Callable[..., Any]:
    def call(arguments: dict[str, Any], about: dict[str, Any]) -> Any:
        key = about.get("idempotency_key") or ""
        context = ToolContext(
            name=tool.name, call_id=about.get("call_id") or key, idempotency_key=key
        )
        return encode_result(use(tool, arguments, context))

    return call
