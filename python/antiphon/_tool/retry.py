"""Retries of failed tool calls."""

from __future__ import annotations

import dataclasses
import inspect
import random
import time
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import RetryPolicy, enclosing_context
from antiphon._validation import is_count
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from antiphon._tool.context import ToolContext

    _Invoke = Callable[[ToolContext[Any] | None], Any]


class ToolRetry:
    """Retries failed calls of one tool.

    Args:
        policy: how many, and after which exceptions.
        timeout: seconds that all attempts of a call may take together. Default: no limit.
    """

    def __init__(self, policy: RetryPolicy, timeout: float | None) -> None:
        self._policy, self._timeout = policy, timeout

    def call(self, invoke: _Invoke, context: ToolContext[Any] | None) -> Any:
        """Calls until it succeeds; an awaitable if `invoke` returns one."""
        pauses = _RetryPauses(self._policy, self._timeout)
        while True:
            try:
                result = invoke(pauses.number(context))
            except Exception as error:  # noqa: BLE001 - raised again, unless there is an attempt left
                pause = pauses.after(error)
                time.sleep(pause)
                pauses.check_alive(error)
            else:
                return self._await(result, invoke, context, pauses) if _waits(result) else result

    async def _await(
        self,
        first: Awaitable[Any],
        invoke: _Invoke,
        context: ToolContext[Any] | None,
        pauses: _RetryPauses,
    ) -> Any:
        import asyncio  # it takes 20 ms

        waiting = first
        while True:
            try:
                return await waiting
            except Exception as error:  # noqa: BLE001 - as above
                await asyncio.sleep(pauses.after(error))
            waiting = invoke(pauses.number(context))


class _RetryPauses:
    """The pauses between the attempts of one call."""

    def __init__(self, policy: RetryPolicy, timeout: float | None) -> None:
        self._policy = policy
        self._end = None if timeout is None else time.monotonic() + timeout
        self._made = 1
        self._in_node = enclosing_context() is not None

    def number(self, context: ToolContext[Any] | None) -> ToolContext[Any] | None:
        """The context of the next attempt; those of the agent count too."""
        if context is None or self._made == 1:
            return context
        return dataclasses.replace(context, attempt=context.attempt + self._made - 1)

    def after(self, error: Exception) -> float:
        """The seconds to wait after a failure; raises it if it was the last attempt."""
        policy = self._policy
        if self._made >= policy.max_attempts or not _covers(policy.retry_on, error):
            raise error
        pause = min(
            policy.initial_interval * policy.backoff_factor ** (self._made - 1), policy.max_interval
        )
        if policy.jitter:
            pause += random.random()  # noqa: S311 - it spreads attempts, and guards nothing
        if self._end is not None and time.monotonic() + pause >= self._end:
            raise error
        self._made += 1
        return pause

    def check_alive(self, error: Exception) -> None:
        """Raises the failure if nobody waits for the call any more."""
        if self._in_node and enclosing_context() is None:
            raise error


def read_tool_retry(
    name: str, given: Any, timeout: float | None, *, repeatable: bool
) -> ToolRetry | None:
    """Reads the `retry` option of a tool: a `RetryPolicy`, a number of attempts, or `None`.

    Raises:
        ValidationError: it is something else, or a call may not be repeated (``tool_option``).
    """
    if given is None:
        return None
    if is_count(given):
        given = RetryPolicy(max_attempts=given)
    if not isinstance(given, RetryPolicy):
        raise ValidationError(
            f"`retry` of tool `{name}` must be a `RetryPolicy` or a number of attempts: {given!r}",
            code="tool_option",
            details={"tool": name, "option": "retry"},
        )
    if not repeatable:
        raise ValidationError(
            f"`retry` of tool `{name}` repeats calls that may have had side effects: "
            f"{given.max_attempts} attempts",
            code="tool_option",
            details={"tool": name, "option": "retry"},
            hint='declare `idempotent=True`, or `side_effect="read"` or `"none"`',
        )
    return ToolRetry(given, timeout)


def _covers(rule: Any, error: Exception) -> bool:
    if isinstance(error, ValidationError):
        return False  # the same arguments would be wrong again
    if isinstance(rule, type | tuple):
        return isinstance(error, rule)
    return bool(rule(error))


def _waits(result: Any) -> bool:
    return inspect.isawaitable(result)
