"""The gate of a tool whose code is Python: a limit of concurrency, and a circuit breaker."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from antiphon._antiphon import ToolGate, enclosing_context
from antiphon._faults import is_unreachable
from antiphon._validation import LARGEST_COUNT, is_count, is_seconds
from antiphon.errors import RunCancelled, ValidationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from antiphon._antiphon import GatedCall


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """When a tool that keeps failing is left alone, in all runs of the process.

    Lost connections, HTTP status 429 and 5xx, and time-outs are failures; what the tool refuses is
    not. After the cool-down one call tries again, and its success closes the circuit.

    Attributes:
        failures: failures in a row that open the circuit. Default: 5.
        cooldown: seconds for which it stays open. Default: 30.

    Raises:
        ValidationError: one of them is no positive number (``tool_option``).

    Example:
        >>> from antiphon import tool
        >>> @tool(breaker=CircuitBreaker(failures=3, cooldown=60))
        ... def search(query: str) -> str:
        ...     return query
    """

    failures: int = 5
    cooldown: float = 30.0

    def __post_init__(self) -> None:
        if not is_count(self.failures):
            raise _unfit("failures", f"a whole number from 1 to {LARGEST_COUNT}", self.failures)
        if not is_seconds(self.cooldown):
            raise _unfit("cooldown", "a finite number of seconds above zero", self.cooldown)


GATE_OPTIONS = ("timeout", "breaker", "max_concurrency")
"""The options of a tool that its gate depends on."""


def _unfit(field: str, expected: str, found: Any) -> ValidationError:
    return ValidationError(
        f"`{field}` of a circuit breaker must be {expected}: {found!r}",
        code="tool_option",
        details={"option": "breaker"},
    )


def read_gate(
    name: str, timeout: float | None, breaker: Any, max_concurrency: int | None
) -> ToolGate | None:
    """The gate of a tool; ``None`` if it needs none."""
    policy = breaker_of(breaker)
    if policy is None and max_concurrency is None:
        return None
    limits = None if policy is None else (policy.failures, policy.cooldown)
    return ToolGate(name, timeout=timeout, breaker=limits, max_concurrency=max_concurrency)


class BreakerSpec(TypedDict):
    """A circuit breaker as the engine sees it; ``cooldown`` in seconds."""

    failures: int
    cooldown: float


def breaker_spec(given: Any) -> BreakerSpec | None:
    """The breaker of an option, as the engine sees it."""
    policy = breaker_of(given)
    if policy is None:
        return None
    return {"failures": policy.failures, "cooldown": policy.cooldown}


def breaker_of(given: Any) -> CircuitBreaker | None:
    """The breaker of an option; true stands for the default one."""
    if isinstance(given, CircuitBreaker):
        return given
    return CircuitBreaker() if given else None


def call_gated(gate: ToolGate, name: str, invoke: Callable[[], Any]) -> Any:
    """Calls through a gate; an awaitable if `invoke` returns one.

    Raises:
        ToolError: the circuit is open (``tool_circuit_open``).
    """
    in_node = enclosing_context() is not None
    entered = gate.enter(note_circuit(name))
    try:
        _check_wanted(name, in_node=in_node)
        result = invoke()
    except BaseException as error:
        _failed(entered, error)
        raise
    if inspect.isawaitable(result):
        return _awaited(entered, result)
    entered.finish(failed=False)
    return result


async def acall_gated(gate: ToolGate, name: str, invoke: Callable[[], Awaitable[Any]]) -> Any:
    """Calls an async tool through a gate; waiting for it blocks no thread."""
    entered = await gate.aenter(note_circuit(name))
    return await _awaited(entered, invoke())


async def _awaited(entered: GatedCall, waiting: Awaitable[Any]) -> Any:
    try:
        result = await waiting
    except BaseException as error:
        _failed(entered, error)
        raise
    entered.finish(failed=False)
    return result


def _failed(entered: GatedCall, error: BaseException) -> None:
    if isinstance(error, Exception):
        entered.finish(failed=is_unreachable(error))
    else:  # a cancellation or an interrupt; whether it was a time-out, the gate knows
        entered.cancel()


def _check_wanted(name: str, *, in_node: bool) -> None:
    """Returns if the caller has not given the call up while it waited.

    Raises:
        RunCancelled: it has (``task_cancelled``).
    """
    if in_node and enclosing_context() is None:
        raise RunCancelled(f"the call was given up before it began: {name}", code="task_cancelled")


def note_circuit(name: str) -> Callable[[str, dict[str, Any]], None]:
    """Takes notes of a circuit's phases: for the log, and the trace of the enclosing node."""
    ctx = enclosing_context()

    def note(event: str, data: dict[str, Any]) -> None:
        logging.getLogger(f"antiphon.tool.{name}").warning(
            "the circuit is %s after %s failures in a row", data["phase"], data["failures"]
        )
        if ctx is not None:
            ctx.emit(data, event)

    return note
