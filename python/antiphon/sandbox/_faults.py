"""Failures that engines report, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon.errors import (
    AccessDenied,
    GuestError,
    GuestSyntaxError,
    HostCallError,
    MemoryLimitExceeded,
    OutputLimitExceeded,
    RecursionLimitExceeded,
    ResultTooLarge,
    SandboxCancelled,
    SandboxError,
    SandboxUnavailable,
    TimeLimitExceeded,
    UnsupportedCode,
    WorkerCrashed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["as_fault", "report", "sandbox_error"]

_FIELDS = ("type", "line", "column", "source", "frames")
_MAKE: Mapping[str, Callable[..., SandboxError]] = {
    "python_error": lambda **fields: GuestError(code="sandbox_python_error", **fields),
    "syntax_error": lambda **fields: GuestSyntaxError(code="sandbox_syntax_error", **fields),
    "unsupported": lambda **fields: UnsupportedCode(code="sandbox_unsupported", **fields),
    "time_limit": lambda **fields: TimeLimitExceeded(code="sandbox_time_limit", **fields),
    "memory_limit": lambda **fields: MemoryLimitExceeded(code="sandbox_memory_limit", **fields),
    "output_limit": lambda **fields: OutputLimitExceeded(code="sandbox_output_limit", **fields),
    "recursion_limit": lambda **fields: RecursionLimitExceeded(
        code="sandbox_recursion_limit", **fields
    ),
    "result_too_large": lambda **fields: ResultTooLarge(code="sandbox_result_too_large", **fields),
    "host_call_limit": lambda **fields: HostCallError(code="sandbox_host_call_limit", **fields),
    "host_call_denied": lambda **fields: HostCallError(code="sandbox_host_call_denied", **fields),
    "host_call_failed": lambda **fields: HostCallError(code="sandbox_host_call_failed", **fields),
    "disk_limit": lambda **fields: AccessDenied(code="sandbox_disk_limit", **fields),
    "process_limit": lambda **fields: AccessDenied(code="sandbox_process_limit", **fields),
    "denied": lambda **fields: AccessDenied(code="sandbox_denied", **fields),
    "crashed": lambda **fields: WorkerCrashed(code="sandbox_crashed", **fields),
    "cancelled": lambda **fields: SandboxCancelled(code="sandbox_cancelled", **fields),
    "closed": lambda **fields: SandboxCancelled(code="sandbox_closed", **fields),
    "unavailable": lambda **fields: SandboxUnavailable(code="sandbox_unavailable", **fields),
}


def sandbox_error(fault: Mapping[str, Any]) -> SandboxError:
    """Return the exception for a failure that an engine reports.

    Example:
        >>> sandbox_error({"kind": "python_error", "message": "boom", "line": 2})
        GuestError('boom, at line 2', code='sandbox_python_error')
    """
    kind = str(fault.get("kind"))
    make = _MAKE.get(kind)
    if make is None:
        return WorkerCrashed(
            f"the worker reported an unknown kind of failure: {kind}"[:200], code="sandbox_crashed"
        )
    details = {name: fault[name] for name in _FIELDS if fault.get(name) is not None}
    return make(message=_message(fault), details=details)


def as_fault(error: SandboxError) -> dict[str, Any]:
    """Return a failure as JSON values; the inverse of `sandbox_error`, except for the message."""
    return {"kind": error.kind, "message": error.message, **error.details}


def report(error: SandboxError) -> str:
    """Return the failure as text for a person or a model: message and traceback."""
    lines = [error.message]
    for frame in error.frames:
        where = f"  line {frame.get('line')}, in {frame.get('function')}"
        source = str(frame.get("source") or "").strip()
        lines.append(f"{where}: {source}" if source else where)
    return "\n".join(lines)


def _message(fault: Mapping[str, Any]) -> str:
    said, name = str(fault.get("message") or ""), fault.get("type")
    text = said if name is None else f"{name}: {said}" if said else str(name)
    line = fault.get("line")
    return text if line is None else f"{text}, at line {line}"
