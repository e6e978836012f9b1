"""The state on its way to an agent, told apart from what an agent is sent instead."""

from __future__ import annotations

from typing import Any

RECORDED = "__errors__"
"""The channel of errors that the team went on after."""
HANDED = "__handed__"
"""The channel of errors that another agent took over."""


class Shown:
    """The state as agents see it, with what only the team needs.

    Args:
        state: a dict, or an instance of the team's state class.
        raw: the engine's own.
    """

    __slots__ = ("errors", "state")

    def __init__(self, state: Any, raw: dict[str, Any]) -> None:
        self.state = state
        self.errors: list[dict[str, Any]] = [*raw.get(RECORDED, ()), *raw.get(HANDED, ())]
