"""Calls of a node that are made once: a node that runs again gets their recorded results."""

from __future__ import annotations

import functools
import inspect
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon._pause import CallScope, scope_key
from antiphon._run_group import check_not_stopped
from antiphon._sync_async import Operation, Routine, call_any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from antiphon._antiphon import Context, Effect
    from antiphon.tools import Tool


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a node wants to make.

    Attributes:
        kind: ``tool``, ``model`` or ``step``.
        name: the name of the tool, model or step.
        given: the arguments, the same each time the node makes the call.
        repeatable: whether it may be made twice.
        is_inner: whether it belongs to the enclosing call, if there is one.
        is_scope: whether the calls and questions within it belong to it.
        details: what the event of its end shows beside its result, once it has ended.
    """

    kind: str
    name: str
    given: Any
    repeatable: bool
    is_inner: bool = True
    is_scope: bool = True
    details: Callable[[], dict[str, Any]] | None = None

    def about(self, ctx: Context) -> tuple[tuple[str, str], Any, bool, str | None]:
        """The arguments of `Context.begin_call`."""
        within = scope_key(ctx) if self.is_inner else None
        return (self.kind, self.name), self.given, self.repeatable, within

    def scope(self, effect: Effect) -> AbstractContextManager[None]:
        """The scope of the calls and questions within it."""
        return CallScope(effect) if self.is_scope else nullcontext()


def call_of(tool: Tool, arguments: dict[str, Any]) -> Call:
    """A call of a tool; it may be repeated if the tool is idempotent or has no side effects."""
    repeatable = tool.idempotent or tool.side_effect in {"none", "read"}
    return Call("tool", tool.name, arguments, repeatable)


def known_call(ctx: Context, call: Call) -> Effect | None:
    """A call that was made before the node started again, for `perform`; ``None`` if there is none.

    Raises:
        ToolError: it had started, and its outcome is unknown (``unknown_outcome``).
        StateError: the node made other calls before (``replay_diverged``).
    """
    return ctx.known_call(*call.about(ctx))


def perform(
    ctx: Context, call: Call, effect: Callable[[str], Routine[Any]], found: Effect | None = None
) -> Routine[Any]:
    """Makes a call, or returns its result from before the node started again.

    Args:
        ctx: the context of the node.
        call: the call.
        effect: makes the call, given the idempotency key.
        found: the result of `known_call`; to begin the call here would begin the next one like it.

    Raises:
        ToolError: its outcome is unknown (``unknown_outcome``).
        StateError: the node made other calls before (``replay_diverged``), or the result cannot
            be stored (``value_unstorable``).
        BudgetError: the run has no call left (``budget_exhausted``).
        KeyboardInterrupt: the batch that the run belongs to has been cancelled.
    """
    check_not_stopped()
    made = found or ctx.begin_call(*call.about(ctx))
    if made.known:
        return made.result()
    yield from _stored(made)
    try:
        with call.scope(made):
            value = yield from effect(made.key)
    except BaseException as error:
        made.raised(error)
        yield from _stored(made)
        raise
    if call.details is not None:
        made.describe(call.details())
    returned = made.returned(value)
    yield from _stored(made)
    return returned


def _stored(made: Effect) -> Routine[None]:
    if made.pending:
        yield Operation(made.wait, made.arrive)


_KEY = "idempotency_key"


def perform_step(
    ctx: Context,
    name: str,
    function: Callable[..., Any],
    given: tuple[Any, Any],
    *,
    idempotent: bool,
) -> Routine[Any]:
    """Calls a sync or async function as one step of a node.

    Args:
        ctx: the context of the node.
        name: the name of the step.
        function: the function; it gets the idempotency key as a parameter of that name, if it has
            one that `given` lacks.
        given: positional and keyword arguments.
        idempotent: whether it may be called twice.
    """
    args, kwargs = given
    call = Call("step", name, [list(args), kwargs], idempotent)

    def effect(key: str) -> Routine[Any]:
        own = {_KEY: key} if _KEY not in kwargs and _takes_key(function) else {}
        return (yield call_any(function, *args, **kwargs, **own))

    return perform(ctx, call, effect)


def _takes_key(function: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get(_KEY)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    # A partial may have bound it.
    given = function.keywords if isinstance(function, functools.partial) else {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter is not None and parameter.kind in named and _KEY not in given
