"""Events as lines of Python's loggers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from antiphon._watch.line import event_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Event

_DEBUG, _INFO = 10, 20
_LEVELS = {"debug": _DEBUG, "info": _INFO, "warning": 30, "error": 40}
_LOGGERS = {
    "run_started": "run",
    "run_finished": "run",
    "state_updated": "run",
    "edge_taken": "run",
    "checkpoint": "run",
    "budget": "run",
    "model_call": "model",
    "model_reply": "model",
    "output_repaired": "model",
    "tool_call": "tool",
    "tool_result": "tool",
}
"""By the kind of an event; those of other kinds are an agent's."""
_NAMES = ("antiphon", *(f"antiphon.{name}" for name in ("run", "agent", "model", "tool")))
_DETAILS = {"state_updated", "edge_taken", "checkpoint", "model_call", "tool_call"}
"""Kinds that are logged as details: a reply and a result have a separate line."""


def log_event(event: Event) -> None:
    """Logs an event: ``antiphon.run``, ``.agent.NAME``, ``.model`` or ``.tool``.

    Contents of replies and results are in lines of loggers at ``DEBUG`` only.
    """
    if event.kind in {"chunk", "dropped"}:
        return
    import logging

    level = min(_LEVELS[event.level], _DEBUG if event.kind in _DETAILS else 50)
    logger = logging.getLogger(f"antiphon.{_LOGGERS.get(event.kind) or _agent(event)}")
    if not logger.isEnabledFor(level):
        return
    brief = None if logger.isEnabledFor(_DEBUG) else _BRIEF.get(event.kind)
    logger.log(level, "%s", event_line(event) if brief is None else brief(event))


def event_logger() -> Callable[[Event], None] | None:
    """`log_event` if one of our loggers shows lines of the level ``INFO`` or below.

    Lines of higher levels alone are not worth the events: they are in the result.
    """
    # A program that set a level has imported it.
    logging: Any = sys.modules.get("logging")
    if logging is None:
        return None
    shown = any(logging.getLogger(name).isEnabledFor(_INFO) for name in _NAMES)
    return log_event if shown else None


def _agent(event: Event) -> str:
    return f"agent.{event.agent}" if event.agent else "run"


def _reply(event: Event) -> str:
    usage = event.data.get("usage", {})
    count = f"{usage.get('input_tokens', 0)} + {usage.get('output_tokens', 0)} tokens"
    return f"{event.seq:>3} {event.agent} model_reply {event.name}: {count}"


def _result(event: Event) -> str:
    state = "failed" if event.data.get("ok") is False else "returned"
    return f"{event.seq:>3} {event.agent} tool_result {event.name} {state}"


_BRIEF: dict[str, Callable[[Event], str]] = {"model_reply": _reply, "tool_result": _result}
