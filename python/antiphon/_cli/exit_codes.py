"""The exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from antiphon.errors import AuthError, ModelTransportError, ValidationError

if TYPE_CHECKING:
    from antiphon.errors import AntiphonError
    from antiphon.systems import SystemResult

_NO_MODEL = {"local_runtime_missing", "model_not_found", "model_unavailable"}


class Exit(IntEnum):
    """How a command ended."""

    ANSWERED = 0
    ERROR = 1
    USAGE = 2
    NO_ANSWER = 3
    NO_MODEL = 4
    INTERRUPTED = 130


def after(result: SystemResult) -> Exit:
    """The exit code of a question with a result."""
    if result.outcome == "answered":
        return Exit.ANSWERED
    if result.error is not None and _lacks_model(result.error):
        return Exit.NO_MODEL
    return Exit.ERROR if result.outcome == "error" else Exit.NO_ANSWER


def exit_code_of(error: AntiphonError) -> Exit:
    """The exit code of a failure before any model was asked."""
    if _lacks_model(error):
        return Exit.NO_MODEL
    return Exit.USAGE if isinstance(error, ValidationError) else Exit.ERROR


def _lacks_model(error: AntiphonError) -> bool:
    return isinstance(error, AuthError | ModelTransportError) or error.code in _NO_MODEL
