"""The state that an agent was given, and what it has changed in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import has_changed, isolated
from antiphon._orchestrator.state import is_record
from antiphon._state_schema import fields_of_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONTAINERS = (list, dict, set)
"""The types of values that can be changed in place, and of which agents get copies."""


class SeenState:
    """A copy of the state, or of what was sent, in the hands of an agent.

    Args:
        state: the copy.
        load: returns the original, by key; it is the same until the agent returns. Default: the
            copy is copied once more.
    """

    __slots__ = ("_before", "_load", "keys", "state")

    def __init__(self, state: Any, load: Callable[[], Mapping[str, Any]] | None) -> None:
        self.state = state
        self._before = dict(fields_of_state(state)) if is_record(state) else {}
        self.keys = self._before.keys()
        """The keys that it had."""
        if load is None or hasattr(type(state), "__post_init__"):
            # A class may make other containers of those that it gets.
            copy = isolated(self._before)
            self._load: Callable[[], Mapping[str, Any]] = lambda: copy
        else:
            self._load = load

    def changed(self) -> set[str]:
        """The keys that the agent has set or deleted, or whose containers it has changed."""
        if not is_record(self.state):
            return set()
        now = fields_of_state(self.state)
        changed = {key for key in self._before if key not in now}
        changed |= {
            key
            for key, value in now.items()
            if key not in self._before or self._before[key] is not value
        }
        rest = [key for key, value in now.items() if key not in changed and _is_open(value)]
        original = self._load() if rest else {}
        return changed | {
            key for key in rest if key in original and has_changed(original[key], now[key])
        }


def _is_open(value: Any) -> bool:
    return type(value) in CONTAINERS or type(value) is tuple
