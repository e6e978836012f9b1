"""Failures as clients read them: what is wrong with a request, and nothing of the server."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError
from antiphon.result import Result

if TYPE_CHECKING:
    from antiphon.checkpoint import Checkpoint
    from antiphon.event import Event

_STATUS = {
    "request_unauthorized": 401,
    "request_forbidden": 403,
    "thread_empty": 404,
    "thread_unkept": 404,
    "answer_invalid": 409,
    "checkpoint_misfit": 409,
    "question_unknown": 409,
    "thread_busy": 409,
    "thread_conflict": 409,
    "thread_paused": 409,
    "request_too_large": 413,
    "approval_invalid": 422,
    "content_invalid": 422,
    "input_invalid": 422,
    "message_invalid": 422,
    "question_blank": 422,
    "question_malformed": 422,
    "thread_invalid": 422,
    "server_busy": 503,
    "server_stopping": 503,
    "client_slow": 503,
    "run_deadline": 504,
}
"""The status of each failure that a client may read; ``request_invalid`` carries its own."""
_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    503: {"Retry-After": "1"},
}
_TOO_LATE = 504
"""The status of a run that was cancelled at its deadline."""
_FAILURES = ("error", "retry")
"""The kinds of events whose messages are for the log."""
_SHOWN_REASONS = {"error": "the run failed", "cancelled": "cancelled"}
"""What clients read instead of a reason that may have the text of an exception."""
_log = logging.getLogger("antiphon.server")


def reply_to(
    error: BaseException, route: str, thread: str | None = None
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """The status, body and headers of the reply to a request that failed.

    What is not about the request is logged, and the reply says no more than that it failed.

    Args:
        error: the failure.
        route: the route of the request, for the log.
        thread: the thread of its run, for the log.
    """
    status = _status(error)
    if status is None or not isinstance(error, AntiphonError):
        _log.error("a request failed: %s", _place(error, route, thread), exc_info=error)
        return (
            500,
            body_of("run_failed", "the request failed", "the log of the server says why"),
            {},
        )
    if status == _TOO_LATE:
        # The thread says only that the run was cancelled.
        _log.warning("%s, %s", error.message, _place(error, route, thread))
    body = body_of(error.code, error.message, error.hint)
    return status, body, _HEADERS.get(status, {})


def _place(error: BaseException, route: str, thread: str | None) -> str:
    """Where the failure is: its route, thread and run. The client may have named the thread."""
    ended = Result.of(error)
    run = [] if ended is None else [f"run {ended.run_id}"]
    return ", ".join([route, *([] if thread is None else [f"thread {thread!r}"]), *run])


def body_of(code: str, message: str, hint: str | None) -> dict[str, Any]:
    """The body of a reply that tells a failure."""
    return {"error": {"code": code, "message": message, "hint": hint}}


def shown_event(event: Event) -> dict[str, Any]:
    """An event as clients read it: of a failure its code, and not what an exception says."""
    shown = event.to_dict()
    if event.kind in _FAILURES:
        shown["data"] = {key: value for key, value in shown["data"].items() if key != "message"}
    return shown


def shown_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """The state of a thread as clients read it: that its run failed, and not with what."""
    shown = checkpoint.to_dict()
    shown["reason"] = _SHOWN_REASONS.get(str(checkpoint.outcome), shown["reason"])
    return shown


def _status(error: BaseException) -> int | None:
    # What the code of a run raises is not about the request, whatever it is called.
    if not isinstance(error, AntiphonError) or Result.of(error) is not None:
        return None
    if error.code == "request_invalid":
        return int(error.details["status"])
    return _STATUS.get(error.code)
