"""Who is in a team, and errors that name the nearest."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

END = "__end__"
"""Where a flow leads when the run is to end."""
START = "__start__"


class Roster:
    """The names of a team's agents.

    Args:
        names: the names, in order.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def declared(self, name: object, where: str) -> str:
        """A name that stands in the team's declaration.

        Args:
            name: the name.
            where: where it stands, for an error.

        Raises:
            ValidationError: no agent is called that (``agent_unknown``).
        """
        if isinstance(name, str) and name in self:
            return name
        raise ValidationError(
            f"{where} names an agent that is not in the team: {name}",
            code="agent_unknown",
            details={"name": str(name), "known": list(self)},
            hint=self._hint(name),
        )

    def chosen(self, name: object, where: str) -> str:
        """A name that something chose while the team runs.

        Raises:
            StateError: no agent is called that (``target_unknown``).
        """
        if isinstance(name, str) and (name == END or name in self):
            return name
        raise StateError(
            f"{where} leads to an agent that is not in the team: {name}",
            code="target_unknown",
            details={"name": str(name), "known": list(self)},
            hint=self._hint(name),
        )

    def _hint(self, name: object) -> str:
        near = difflib.get_close_matches(str(name), self._names, 1)
        return f"did you mean `{near[0]}`?" if near else f"its agents are {', '.join(self)}"
