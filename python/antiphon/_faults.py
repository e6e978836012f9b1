"""Exceptions of recorded failures, and the exceptions that a retry covers."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from antiphon import errors
from antiphon.errors import AntiphonError, InternalError, SandboxError, SandboxUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

BY_CATEGORY: Mapping[str, type[AntiphonError]] = MappingProxyType(
    {
        kind.category: kind
        for kind in vars(errors).values()
        # Classes of users and of graphs derive from these, and may define other categories.
        if isinstance(kind, type)
        and issubclass(kind, AntiphonError)
        and kind.__base__ is AntiphonError
        and kind is not SandboxError
    }
)
"""The class of each category, by the category's name on the wire."""

_BY_CODE: Mapping[str, type[AntiphonError]] = MappingProxyType(
    {"sandbox_unavailable": SandboxUnavailable}
)
"""Codes of the engine's own that have a narrower class than their category's."""


class FaultRecord(TypedDict):
    """A failure as the engine records it; `from_fault` reads these keys."""

    category: str
    code: str
    message: str
    hint: NotRequired[str | None]
    details: NotRequired[Mapping[str, Any]]


def from_fault(fault: FaultRecord) -> AntiphonError:
    """The exception for a failure that the engine recorded.

    An unknown category becomes an `InternalError` that names it in its details.

    Example:
        >>> from_fault({"category": "budget", "code": "steps", "message": "no step left: 7"})
        BudgetError('no step left: 7', code='steps')
    """
    category, code = fault["category"], fault["code"]
    details = dict(fault.get("details") or {})
    kind = _BY_CODE.get(code) or BY_CATEGORY.get(category)
    if kind is None:
        kind = InternalError
        details.setdefault("category", category)
    return kind(fault["message"], code=code, details=details, hint=fault.get("hint"))


_TOO_MANY = 429
_SERVER_ERROR = 500

_DEFECTS = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
)


# A further attempt would do again what may not be done twice.
_ONCE = ("unknown_outcome", "replay_diverged")


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed.

    Connections and time-outs do; answers of a server with status 4xx and
    exceptions that point at a defect in the code do not, nor do calls
    whose outcome is unknown. The category of an exception of antiphon
    decides.
    """
    if not isinstance(error, Exception) or getattr(error, "code", None) in _ONCE:
        return False
    if isinstance(error, AntiphonError):
        return error.category in _UNREACHED
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    status = _status(error)
    if status is not None:
        return status >= _SERVER_ERROR or status == _TOO_MANY
    return not isinstance(error, (*_DEFECTS, OSError))


_UNREACHED = {"model_transport", "timeout", "tool_transport"}
_CLIENTS = {"aiohttp", "httpcore", "httpx", "requests", "urllib", "urllib3"}
_LOST = {
    "ClientConnectionError",
    "ConnectionError",
    "HTTPError",
    "NetworkError",
    "Timeout",
    "TimeoutException",
    "TransportError",
    "URLError",
}
"""Classes of HTTP clients for lost connections and time-outs; few derive from Python's own."""


def is_unreachable(error: BaseException) -> bool:
    """Whether a service could not be reached or took too long, rather than refused.

    Unlike `is_transient` it is false for exceptions of unknown kinds.
    """
    if isinstance(error, AntiphonError):
        return error.category in _UNREACHED
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    status = _status(error) if isinstance(error, Exception) else None
    if status is not None:
        return status >= _SERVER_ERROR or status == _TOO_MANY
    return any(
        kind.__name__ in _LOST and kind.__module__.partition(".")[0] in _CLIENTS
        for kind in type(error).__mro__
    )


def _status(error: Exception) -> int | None:
    """The HTTP status on errors of httpx, requests and provider SDKs."""
    for holder in (getattr(error, "response", None), error):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
