"""A state without a schema: any agent may add keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._team.messages import listed
from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Builder

_EXTRAS = "__extras__"
_PLAIN = (str, int, float, bool, type(None), list, dict)


class Extras:
    """The keys that agents have added.

    It does not change: a write makes a new one, so that runs and steps can share it.

    Attributes:
        values: the values by key.
        marks: the superstep and the agent that wrote each last.
    """

    __slots__ = ("marks", "values")

    def __init__(
        self, values: dict[str, Any] | None = None, marks: dict[str, Any] | None = None
    ) -> None:
        self.values = values or {}
        self.marks = marks or {}

    def __len__(self) -> int:
        return len(self.values)


_NONE = Extras()


class OpenState:
    """A state whose keys are not known beforehand.

    The engine's channels are fixed, so the keys that agents add share one hidden channel,
    with the rule that a declared key without one has: the last write counts, and two agents
    that run in parallel must not write different values.
    """

    keys: frozenset[str] | None = None

    def declare(self, builder: Builder) -> None:
        """Adds its channels to a graph."""
        builder.channel("question")
        builder.channel("messages", "extend", default=[])
        builder.channel("answer", "last")
        builder.channel(_EXTRAS, _merge, default=_NONE)

    def show(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The engine's state as one flat dict."""
        shown = {key: value for key, value in raw.items() if not key.startswith("__")}
        for key, value in raw.get(_EXTRAS, _NONE).values.items():
            # As with declared keys, agents that run in parallel do not share containers.
            shown[key] = value.copy() if type(value) in (list, dict, set) else value
        return shown

    def begin(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The first writes of a run."""
        return self._split(dict(given), None, (0, "the input"))

    def write(self, update: Any, agent: str, place: tuple[int, str]) -> dict[str, Any]:
        """An agent's update as the engine takes it."""
        from antiphon._team.schema import fields_of

        return self._split(fields_of(update), agent, place)

    def _split(
        self, fields: dict[str, Any], agent: str | None, place: tuple[int, str]
    ) -> dict[str, Any]:
        from antiphon._team.schema import BASE

        made = {key: fields.pop(key) for key in BASE if key in fields}
        if "messages" in made:
            made["messages"] = listed(made["messages"], agent)
        if not fields:
            return made
        key: Any
        for key in fields:
            if not isinstance(key, str) or key.startswith("__"):
                raise StateError(
                    f"a key of the state has to be a text that does not begin with `__`: {key!r}",
                    code="state_key_unknown",
                )
        return {**made, _EXTRAS: Extras(fields, dict.fromkeys(fields, place))}


def _merge(old: Extras, new: Extras) -> Extras:
    for key, (step, writer) in new.marks.items():
        before = old.marks.get(key)
        if before is None or before[0] != step or before[1] == writer:
            continue
        if not _same(old.values[key], new.values[key]):
            raise StateError(
                f"two agents wrote the key `{key}` in the same step: {before[1]} and {writer}",
                code="write_conflict",
                details={"key": key, "agents": [before[1], writer]},
                hint="let them write keys of their own, or declare a `state` with a merge rule",
            )
    return Extras({**old.values, **new.values}, {**old.marks, **new.marks})


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if type(one) is not type(two) or type(one) not in _PLAIN:
        return False
    try:
        return bool(one == two)
    except (TypeError, ValueError):  # arrays inside do not say plainly whether they are equal
        return False
