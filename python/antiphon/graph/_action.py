"""Nodes and routers as the engine calls them: the parameters they want, and what they return."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from antiphon._antiphon import Command
from antiphon._event_loop import is_async
from antiphon._graph_errors import GraphInterrupt
from antiphon._node.human_input import HumanInput
from antiphon._pause import pause_in
from antiphon._state_schema import ROOT
from antiphon.graph._runtime import (
    NodeError,
    RunnableConfig,
    StreamWriter,
    config_of,
    node_error,
    runtime_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from antiphon._antiphon import Context

    _Getter = Callable[[Context], Any]


@dataclass(frozen=True, slots=True)
class Action:
    """A callable as the engine takes it.

    Attributes:
        call: takes the state, and the context if `wants_ctx`.
        wants_ctx: whether it does.
        asynchronous: whether calling it gives a coroutine.
    """

    call: Callable[..., Any]
    wants_ctx: bool
    asynchronous: bool


def read_action(action: Any) -> Action:
    """Prepares a function, method, partial, callable object or Runnable.

    A callable that takes nothing but the state is handed on as it is.

    Raises:
        TypeError: it cannot be called.
    """
    if is_runnable(action):
        return _runnable(action)
    if not callable(action):
        raise TypeError(f"a node or router must be callable, found: {type(action).__name__}")
    wanted = _wanted(action)
    asynchronous = is_async(action)
    if not wanted:
        return Action(action, wants_ctx=False, asynchronous=asynchronous)
    # A coroutine function keeps its nature: the engine awaits what the call returns.
    call = _with(action, wanted)
    if "runtime" in wanted:
        call = functools.update_wrapper(
            await_pending(call, asynchronous=asynchronous), action, updated=()
        )
    return Action(call, wants_ctx=True, asynchronous=asynchronous)


def is_runnable(action: Any) -> bool:
    """Whether it is run by ``invoke`` rather than by being called."""
    core = sys.modules.get("langchain_core.runnables")
    if core is not None and isinstance(action, core.Runnable):
        return True
    return hasattr(action, "invoke") and not callable(action)


def _runnable(action: Any) -> Action:
    # A RunnableLambda of a coroutine function has no sync half.
    only_async = getattr(action, "afunc", None) is not None and not hasattr(action, "func")
    method = action.ainvoke if only_async else action.invoke

    def call(state: Any, ctx: Context) -> Any:
        return method(state, config_of(ctx))

    return Action(call, wants_ctx=True, asynchronous=only_async)


def _with(action: Callable[..., Any], wanted: dict[str, _Getter]) -> Callable[..., Any]:
    if len(wanted) == 1:
        ((name, get),) = wanted.items()

        def call_one(state: Any, ctx: Context) -> Any:
            return action(state, **{name: get(ctx)})

        return functools.update_wrapper(call_one, action, updated=())

    def call(state: Any, ctx: Context) -> Any:
        return action(state, **{name: get(ctx) for name, get in wanted.items()})

    return functools.update_wrapper(call, action, updated=())


def _wanted(action: Callable[..., Any]) -> dict[str, _Getter]:
    try:
        parameters = inspect.signature(action).parameters
    except (ValueError, TypeError):  # some builtins have none
        return {}
    passed = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found: dict[str, _Getter] = {}
    for position, (name, parameter) in enumerate(parameters.items()):
        by_name = name in _KNOWN and parameter.kind in passed
        is_state = position == 0 and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        if by_name and not is_state:
            kinds, get = _KNOWN[name]
            if _fits(parameter.annotation, kinds):
                found[name] = get
            elif name == "config":
                _warn(parameter.annotation)
    return found


def _warn(annotation: Any) -> None:
    warnings.warn(
        f"only a `config` typed as `RunnableConfig` is injected, found: {annotation}",
        UserWarning,
        stacklevel=6,
    )


def _fits(annotation: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether an annotation is one of `kinds`, by object or by name, or optionally so."""
    if not kinds or annotation is inspect.Parameter.empty:
        return True
    names = {getattr(kind, "__name__", "StreamWriter") for kind in kinds}
    if isinstance(annotation, str):
        text = annotation.replace(" ", "").replace("typing.", "")
        text = text.removeprefix("Optional[").removesuffix("]").removesuffix("|None")
        return text.rpartition(".")[2] in names
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_fits(option, kinds) for option in get_args(annotation))
    return annotation in kinds or getattr(annotation, "__name__", None) in names


def _writer(ctx: Context) -> Any:
    return ctx.emit


_KNOWN: dict[str, tuple[tuple[Any, ...], _Getter]] = {
    "config": ((RunnableConfig,), config_of),
    "writer": ((StreamWriter,), _writer),
    "runtime": ((), runtime_of),
    "error": ((NodeError,), node_error),
}


def await_pending(node: Callable[..., Any], *, asynchronous: bool) -> Callable[..., Any]:
    """A node that leaves with a question only once its calls have ended."""

    def call(state: Any, ctx: Context) -> Any:
        try:
            return node(state, ctx)
        except GraphInterrupt as pause:
            HumanInput.of(ctx).settle(_question(pause))
            raise

    async def acall(state: Any, ctx: Context) -> Any:
        try:
            return await node(state, ctx)
        except (GraphInterrupt, BaseExceptionGroup) as left:
            pause = pause_in(left, GraphInterrupt)
            if pause is None:
                raise
        await HumanInput.of(ctx).settle_async(_question(pause))
        raise pause

    return acall if asynchronous else call


def _question(pause: GraphInterrupt) -> Any:
    return pause.interrupts[0].value if pause.interrupts else None


def returning_root(action: Action) -> Action:
    """An action whose bare return value becomes the update of the root value."""
    inner = action.call
    if action.asynchronous:

        async def acall(*arguments: Any) -> Any:
            awaitable: Awaitable[Any] = inner(*arguments)
            return _as_update(await awaitable)

        return Action(acall, wants_ctx=action.wants_ctx, asynchronous=True)

    def call(*arguments: Any) -> Any:
        return _as_update(inner(*arguments))

    return Action(call, wants_ctx=action.wants_ctx, asynchronous=False)


def _as_update(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple) and any(isinstance(item, Command) for item in value):
        return [_as_update(item) for item in value]
    if not isinstance(value, Command):
        return {ROOT: value}
    if value.update is None or value.graph is not None:
        return value
    return Command(update={ROOT: value.update}, goto=value.goto)


def read_router(path: Any) -> Action:
    """Prepares a router.

    The engine calls routers between two supersteps. An async one runs to its end on a separate
    event loop: it cannot await objects of the caller's loop.

    Raises:
        TypeError: it cannot be called.
    """
    action = read_action(path)
    if not action.asynchronous:
        return action
    return Action(_waiting(action.call), wants_ctx=action.wants_ctx, asynchronous=False)


def _waiting(call: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    def ask(*arguments: Any) -> Any:
        import asyncio  # 20 ms that only async routers need
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1, "antiphon-router") as thread:
            return thread.submit(copy_context().run, asyncio.run, call(*arguments)).result()

    return ask
