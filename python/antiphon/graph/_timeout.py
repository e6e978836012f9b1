"""How long an attempt of a node may take, as a whole and without a sign of life."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from antiphon.graph._faults import GraphBuildError

__all__ = ["Timeout", "TimeoutPolicy", "read_timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """Limits of one attempt of a node.

    Attributes:
        run_timeout: the longest it may take, in seconds or as a timedelta. Default: no limit.
        idle_timeout: the longest it may go without a sign of life. Default: no limit.
        refresh_on: what is a sign of life. ``auto``: a value for the stream, an event of a
            LangChain part that the node calls, the end of a task of a nested graph, or a
            heartbeat; ``heartbeat``: only ``runtime.heartbeat()``. Default: ``auto``.
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"


Timeout = float | timedelta | TimeoutPolicy


def read_timeout(given: Timeout | None, node: str) -> dict[str, Any]:
    """The engine's options for a time-out.

    Raises:
        GraphBuildError: it is not above 0, or signs of life are of an unknown kind.
    """
    if given is None:
        return {}
    if not isinstance(given, TimeoutPolicy):
        given = TimeoutPolicy(run_timeout=given)
    if given.refresh_on not in ("auto", "heartbeat"):
        raise GraphBuildError(
            f"`refresh_on` of node `{node}` is `auto` or `heartbeat`, found: {given.refresh_on}"
        )
    options: dict[str, Any] = {}
    if given.run_timeout is not None:
        options["timeout"] = _seconds(given.run_timeout, "timeout", node)
    if given.idle_timeout is not None:
        options["idle_timeout"] = _seconds(given.idle_timeout, "idle_timeout", node)
        options["heartbeat_only"] = given.refresh_on == "heartbeat"
    return options


def _seconds(given: float | timedelta, name: str, node: str) -> float:
    seconds = given.total_seconds() if isinstance(given, timedelta) else float(given)
    if not seconds > 0:
        raise GraphBuildError(f"`{name}` of node `{node}` must be positive: {given}")
    return seconds
