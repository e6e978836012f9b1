"""Calls of a node that are made once: when the node runs again, their results are known."""

from __future__ import annotations

import functools
import inspect
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._event_loop import run_blocking
from antiphon._pause import CallScope, scope_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    from antiphon._antiphon import Context, Effect
    from antiphon.tools import Tool

__all__ = ["Call", "Step", "call_of", "look_up", "perform", "perform_async"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a node wants to make.

    Attributes:
        kind: ``tool``, ``model`` or ``step``.
        name: of what is called.
        given: what it is given: the same each time the node makes the call.
        repeatable: whether it does no harm to make it twice.
        is_inner: whether it belongs to the call that it is made within, if there is one.
        is_scope: whether what it calls and asks belongs to it.
    """

    kind: str
    name: str
    given: Any
    repeatable: bool
    is_inner: bool = True
    is_scope: bool = True

    def about(self, ctx: Context) -> tuple[tuple[str, str], Any, bool, str | None]:
        """What the node is told of it."""
        within = scope_key(ctx) if self.is_inner else None
        return (self.kind, self.name), self.given, self.repeatable, within

    def scope(self, effect: Effect) -> AbstractContextManager[None]:
        """What it does is done within this."""
        return CallScope(effect) if self.is_scope else nullcontext()


def call_of(tool: Tool, arguments: dict[str, Any]) -> Call:
    """A call of a tool, which may be made twice if the tool says so or changes nothing."""
    repeatable = tool.idempotent or tool.side_effect in {"none", "read"}
    return Call("tool", tool.name, arguments, repeatable)


def look_up(ctx: Context, call: Call) -> Effect | None:
    """A call that was made before the node began again, for `perform`; none if it is to be made.

    Raises:
        ToolError: it was begun, and nobody knows what came of it (``unknown_outcome``).
        StateError: the node had called something else (``replay_diverged``).
    """
    return ctx.known_call(*call.about(ctx))


def perform(
    ctx: Context, call: Call, effect: Callable[[str], Any], found: Effect | None = None
) -> Any:
    """Makes a call, or gives what came of it before the node began again.

    Args:
        ctx: of the node.
        call: what is called.
        effect: calls it, given the idempotency key.
        found: what `look_up` gave: to begin it here would be to come to the next call like it.

    Raises:
        ToolError: nobody knows what came of it (``unknown_outcome``).
        StateError: the node had called something else (``replay_diverged``), or what came of it
            cannot be stored (``value_unstorable``).
        BudgetError: the run may not make it (``budget_exhausted``).
    """
    made = found or ctx.begin_call(*call.about(ctx))
    if made.known:
        return made.result()
    made.wait()
    try:
        with call.scope(made):
            value = effect(made.key)
    except BaseException as error:
        made.raised(error)
        made.wait()
        raise
    made.returned(value)
    made.wait()
    return value


async def perform_async(
    ctx: Context, call: Call, effect: Callable[[str], Awaitable[Any]], found: Effect | None = None
) -> Any:
    """`perform` on the caller's event loop."""
    made = found or ctx.begin_call(*call.about(ctx))
    if made.known:
        return made.result()
    if made.pending:
        await made.arrive()
    try:
        with call.scope(made):
            value = await effect(made.key)
    except BaseException as error:
        made.raised(error)
        if made.pending:
            await made.arrive()
        raise
    made.returned(value)
    if made.pending:
        await made.arrive()
    return value


_KEY = "idempotency_key"


class Step:
    """A function that a node calls as one step.

    Args:
        name: what the step is called.
        function: sync or async. If it has a parameter ``idempotency_key`` that it is not given,
            it gets the key.
        idempotent: whether it does no harm to call it twice.
    """

    __slots__ = ("_function", "_idempotent", "_name", "_takes_key")

    def __init__(self, name: str, function: Callable[..., Any], *, idempotent: bool) -> None:
        self._name = name
        self._function = function
        self._idempotent = idempotent
        self._takes_key = _takes_key(function)

    def take(self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls it and waits, for an async one too; or gives what came of it before."""

        def effect(key: str) -> Any:
            value = self._called(key, args, kwargs)
            return run_blocking(value) if inspect.isawaitable(value) else value

        return perform(ctx, self._call(args, kwargs), effect)

    async def take_async(self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`take`, awaited; a blocking function runs on a thread."""

        async def effect(key: str) -> Any:
            if inspect.iscoroutinefunction(self._function):
                return await self._called(key, args, kwargs)
            import asyncio

            value = await asyncio.to_thread(self._called, key, args, kwargs)
            return await value if inspect.isawaitable(value) else value

        return await perform_async(ctx, self._call(args, kwargs), effect)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call("step", self._name, [list(args), kwargs], self._idempotent)

    def _called(self, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._takes_key and _KEY not in kwargs:
            kwargs = {**kwargs, _KEY: key}
        return self._function(*args, **kwargs)


def _takes_key(function: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get(_KEY)
    except (TypeError, ValueError):  # a builtin that does not say what it takes
        return False
    # A partial has given what it has given.
    given = function.keywords if isinstance(function, functools.partial) else {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter is not None and parameter.kind in named and _KEY not in given
