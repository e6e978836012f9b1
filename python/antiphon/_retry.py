"""Which exceptions a retry policy covers unless it says otherwise."""

from __future__ import annotations

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
    """Say whether the same work may well succeed when it is tried again.

    Connections and time-outs do; answers of a server with status 4xx and
    exceptions that point at a defect in the code do not, nor do calls of which
    nobody knows what came.
    """
    if not isinstance(error, Exception) or getattr(error, "code", None) in _ONCE:
        return False
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    status = _status(error)
    if status is not None:
        return status >= _SERVER_ERROR or status == _TOO_MANY
    return not isinstance(error, (*_DEFECTS, OSError))


def _status(error: Exception) -> int | None:
    """Read the HTTP status that httpx, requests and provider SDKs put on errors."""
    for holder in (getattr(error, "response", None), error):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None
