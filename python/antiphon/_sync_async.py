"""Routines: code that waits, written once for sync and async callers.

A routine is a generator of operations. Sync callers block on each of them, async callers await it;
its result, or its exception, goes back into the routine.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from antiphon._event_loop import blocking_call, is_async, level_of_caller, run_blocking

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from antiphon._antiphon import Run

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Operation(NamedTuple):
    """Something to wait for: a call that blocks, and one that returns an awaitable."""

    blocking: Callable[[], Any]
    awaiting: Callable[[], Awaitable[Any]]


Routine: TypeAlias = Generator[Operation, Any, _T]


def run_sync(routine: Routine[_T]) -> _T:
    """Runs a routine on this thread."""
    value: _T = blocking_call(level_of_caller(), _driven, routine)
    return value


def _driven(routine: Routine[_T]) -> _T:
    try:
        operation = next(routine)
        while True:
            try:
                result = operation.blocking()
            except BaseException as error:  # noqa: BLE001 - the routine raises it again
                operation = routine.throw(error)
            else:
                operation = routine.send(result)
    except StopIteration as end:
        value: _T = end.value
        return value


async def run_async(routine: Routine[_T]) -> _T:
    """Runs a routine on the caller's event loop."""
    try:
        operation = next(routine)
        while True:
            try:
                result = await operation.awaiting()
            except BaseException as error:  # noqa: BLE001 - the routine raises it again
                operation = routine.throw(error)
            else:
                operation = routine.send(result)
    except StopIteration as end:
        value: _T = end.value
        return value


def twin(owner: Any, method: str, *args: Any, **kwargs: Any) -> Operation:
    """The call of a method, or of its async twin with the prefix ``a``."""
    return Operation(
        functools.partial(getattr(owner, method), *args, **kwargs),
        functools.partial(getattr(owner, f"a{method}"), *args, **kwargs),
    )


def drive(run: Run) -> Operation:
    """Driving a run until it ends or pauses."""
    return Operation(run.drain, lambda: run)


def call_any(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Operation:
    """The call of a sync or async function; async callers run a sync one on a thread."""

    def blocking() -> Any:
        value = function(*args, **kwargs)
        return run_blocking(value) if inspect.isawaitable(value) else value

    async def awaiting() -> Any:
        if is_async(function):
            return await function(*args, **kwargs)
        import asyncio

        value = await asyncio.to_thread(function, *args, **kwargs)
        return await value if inspect.isawaitable(value) else value

    return Operation(blocking, awaiting)


def sync_method(routine: Callable[_P, Routine[_T]]) -> Callable[_P, _T]:
    """The method that runs a routine; `async_method` makes its async twin."""
    returns = str(routine.__annotations__["return"])
    routine.__annotations__["return"] = returns.removeprefix("Routine[").removesuffix("]")
    # A `TypeError` about its arguments does not name the class that happens to define it.
    routine.__qualname__ = routine.__name__

    @functools.wraps(routine)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return run_sync(routine(*args, **kwargs))

    return call


def async_method(method: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """The async twin of a method that `sync_method` made."""
    routine: Callable[_P, Routine[_T]] = method.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(routine)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await run_async(routine(*args, **kwargs))

    call.__name__ = f"a{routine.__name__}"
    call.__qualname__ = routine.__qualname__.replace(routine.__name__, call.__name__)
    call.__doc__ = f"`{routine.__name__}` on the caller's event loop."
    return call
