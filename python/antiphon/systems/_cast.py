"""Who plays which role of the review loop, and with which tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._role import Part, as_role, as_tools
from antiphon.agent import Agent
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["everyone", "played", "tools_of"]


def everyone(given: Any) -> dict[str, Any]:
    """Whoever plays all roles that are not named."""
    if isinstance(given, Agent) or (isinstance(given, type) and issubclass(given, Agent)):
        raise ValidationError(
            f"an agent plays one role, and was given for all of them: {given!r}",
            code="role_invalid",
            hint="name the role: `ReviewLoop(critic=MyCritic())`",
        )
    return as_role(Part("model", (), speaks=False, view=dict), given)


def played(name: str, role: dict[str, Any], actor: dict[str, Any]) -> dict[str, Any]:
    """A role with the model of all roles, where it brings none."""
    if "act" in role or not role:
        return role or {**actor, "tags": {"agent": name}}
    if "act" in actor and "model" not in role:
        raise ValidationError(
            f"the agent that plays the {name} has no model, and what plays all roles is none",
            code="role_invalid",
            details={"role": name},
            hint="give the agent a `model`",
        )
    return {**actor, "tags": {"agent": name}, **role}


def tools_of(
    known: dict[str, dict[str, Any]], shared: list[Any], named: dict[str, Iterable[Any] | None]
) -> dict[str, Any]:
    """The tools of researcher and expert.

    What is shared goes to those of the two that have none of their own: a function and an
    agent's `run` see to themselves, and so does an agent that lists its tools.
    """
    everybodys = as_tools(shared)
    found = {}
    for name, own in named.items():
        role = known.get(name, {})
        brings = "act" in role or "tools" in role
        given = everybodys if not brings else []
        # The same list for both says that their tools are the same.
        found[f"{_LISTS[name]}_tools"] = given if own is None else as_tools(own)
    return found


_LISTS = {"researcher": "research", "expert": "expert"}
