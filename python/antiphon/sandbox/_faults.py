"""What an engine reports of a failure, as the exception that stands for it."""

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
    "python_error": lambda **told: GuestError(code="sandbox_python_error", **told),
    "syntax_error": lambda **told: GuestSyntaxError(code="sandbox_syntax_error", **told),
    "unsupported": lambda **told: UnsupportedCode(code="sandbox_unsupported", **told),
    "time_limit": lambda **told: TimeLimitExceeded(code="sandbox_time_limit", **told),
    "memory_limit": lambda **told: MemoryLimitExceeded(code="sandbox_memory_limit", **told),
    "output_limit": lambda **told: OutputLimitExceeded(code="sandbox_output_limit", **told),
    "recursion_limit": lambda **told: RecursionLimitExceeded(
        code="sandbox_recursion_limit", **told
    ),
    "result_too_large": lambda **told: ResultTooLarge(code="sandbox_result_too_large", **told),
    "host_call_limit": lambda **told: HostCallError(code="sandbox_host_call_limit", **told),
    "host_call_denied": lambda **told: HostCallError(code="sandbox_host_call_denied", **told),
    "host_call_failed": lambda **told: HostCallError(code="sandbox_host_call_failed", **told),
    "disk_limit": lambda **told: AccessDenied(code="sandbox_disk_limit", **told),
    "process_limit": lambda **told: AccessDenied(code="sandbox_process_limit", **told),
    "denied": lambda **told: AccessDenied(code="sandbox_denied", **told),
    "crashed": lambda **told: WorkerCrashed(code="sandbox_crashed", **told),
    "cancelled": lambda **told: SandboxCancelled(code="sandbox_cancelled", **told),
    "closed": lambda **told: SandboxCancelled(code="sandbox_closed", **told),
    "unavailable": lambda **told: SandboxUnavailable(code="sandbox_unavailable", **told),
}


def sandbox_error(fault: Mapping[str, Any]) -> SandboxError:
    """The exception for a failure that an engine reports.

    Args:
        fault: ``kind``, ``message``, and where known ``type``, ``line``, ``column``,
            ``source`` and ``frames``. An unknown kind is a crash: no engine reports one.

    Example:
        >>> sandbox_error({"kind": "python_error", "message": "boom", "line": 2})
        GuestError('boom, at line 2', code='sandbox_python_error')
    """
    kind = str(fault.get("kind"))
    make = _MAKE.get(kind)
    if make is None:
        return WorkerCrashed(
            f"the worker reported what is no failure: {kind}"[:200], code="sandbox_crashed"
        )
    details = {name: fault[name] for name in _FIELDS if fault.get(name) is not None}
    return make(message=_message(fault), details=details)


def as_fault(error: SandboxError) -> dict[str, Any]:
    """A failure as JSON values; the inverse of `sandbox_error`, but that the text is whole."""
    return {"kind": error.kind, "message": error.message, **error.details}


def report(error: SandboxError) -> str:
    """The failure as a person or a model reads it: what, and the lines that led there."""
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
