"""A state without a schema: any agent may add keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._team.messages import listed
from antiphon.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon._antiphon import Builder

_EXTRAS = "__extras__"


class OpenState:
    """A state whose keys are not known beforehand.

    The engine's channels are fixed, so the keys that agents add are the fields of one hidden
    channel. Each has the rule that a declared key without one has: the last write counts, and
    two agents that run in parallel must not write different values.
    """

    keys: frozenset[str] | None = None
    schemas: tuple[Any, ...] = ()
    anew: tuple[str, ...] = ("answer",)

    def declare(self, builder: Builder) -> None:
        """Adds its channels to a graph."""
        builder.channel("question")
        builder.channel("messages", "extend", default=[])
        builder.channel("answer", "last")
        builder.channel(_EXTRAS, "fields", default={})

    def show(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The engine's state as one flat dict."""
        shown = {key: value for key, value in raw.items() if not key.startswith("__")}
        for key, value in raw.get(_EXTRAS, {}).items():
            # As with declared keys, agents that run in parallel do not share containers.
            shown[key] = value.copy() if type(value) in (list, dict, set) else value
        return shown

    def begin(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The first writes of a run."""
        return self._split(dict(given), None)

    def turn(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a further run on a thread writes over what is there."""
        return self._split(dict(given), None)

    def write(self, update: Any, agent: str | None) -> dict[str, Any]:
        """An update as the engine takes it: an agent's, or the person's."""
        from antiphon._team.schema import fields_of

        return self._split(fields_of(update), agent)

    def _split(self, fields: dict[str, Any], agent: str | None) -> dict[str, Any]:
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
        return {**made, _EXTRAS: fields}
