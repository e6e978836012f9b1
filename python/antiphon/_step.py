"""Functions of a node that are called once, whatever happens in between."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

from antiphon import _loop
from antiphon._effect import Call, perform, perform_async

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Context

__all__ = ["Step"]

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
            return _waited(value) if inspect.isawaitable(value) else value

        return perform(ctx, self._call(args, kwargs), effect)

    async def take_async(self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`take`, awaited; a blocking function runs on a thread."""

        async def effect(key: str) -> Any:
            if inspect.iscoroutinefunction(self._function):
                return await self._called(key, args, kwargs)
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


def _waited(awaitable: Any) -> Any:
    async def wait() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(wait(), _loop.running())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
