"""Agents that options refer to: fallbacks, and handoffs that a model decides on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from antiphon._orchestrator.agent_spec import Spec, name_of, read_spec
from antiphon._orchestrator.flow import is_member, member
from antiphon._orchestrator.team_prompts import HANDOFF
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from antiphon._orchestrator.flow import AgentNames
    from antiphon._orchestrator.team_prompts import TeamPrompts

_LONGEST = 64
"""Characters of a tool's name that all providers take."""


def guests(specs: Sequence[Spec], fallback: Any) -> list[Spec]:
    """The agents that options give, and the list of the team does not; they join the team.

    Raises:
        ValidationError: another agent has the name of one (``team_invalid``).
    """
    every = list(specs)
    given = [fallback, *(one for spec in specs for one in _given(spec))]
    while given:
        one = given.pop(0)
        if not is_member(one):
            continue
        agent = member(one)
        known = next((spec for spec in every if spec.name == name_of(agent)), None)
        if known is None:
            every.append(read_spec(agent))
            given += _given(every[-1])
        elif one not in (known.agent, type(known.agent), getattr(known.agent, "team", None)):
            raise ValidationError(
                f"two agents of the team have the same name: {known.name}",
                code="team_invalid",
                details={"name": known.name},
                hint="rename one of them, or refer to the agent of the team by its name",
            )
    return every[len(specs) :]


def fallbacks(specs: Sequence[Spec], fallback: Any, agent_names: AgentNames) -> dict[str, str]:
    """The agent that takes over from each agent that has one, by name.

    Raises:
        ValidationError: a name is not in the team (``agent_unknown``).
    """
    found = {}
    for spec in specs:
        own = spec.fallback is not None
        given = spec.fallback if own else None if spec.on_error else fallback
        if given is None:
            continue
        owner = f"agent `{spec.name}`" if own else "the team"
        target = _named(given, agent_names, f"`fallback` of {owner}")
        if target != spec.name:
            found[spec.name] = target
        elif own:
            raise ValidationError(
                f"an agent cannot be its own fallback: {target}", code="agent_invalid"
            )
    return found


def handoffs(
    spec: Spec, specs: Mapping[str, Spec], agent_names: AgentNames, prompts: TeamPrompts
) -> dict[str, dict[str, Any]]:
    """The tools by which an agent's model hands the conversation over, by the agents they lead to.

    Raises:
        ValidationError: an agent is not in the team (``agent_unknown``), is the agent itself, or
            a tool of the agent has the name of a handoff (``agent_invalid``).
    """
    taken = {tool.name for tool in spec.tools}
    made: dict[str, dict[str, Any]] = {}
    for given in spec.handoffs:
        where = f"`handoffs` of agent `{spec.name}`"
        target = _named(given, agent_names, where)
        name = f"transfer_to_{re.sub(r'[^A-Za-z0-9_-]', '_', target)}"[:_LONGEST]
        if target == spec.name or name in taken:
            reason = "itself" if target == spec.name else f"a tool's name twice, {name}"
            raise ValidationError(
                f"{where} must lead to other agents, each once, found: {reason}",
                code="agent_invalid",
                details={"option": "handoffs"},
            )
        taken.add(name)
        description = specs[target].description or ""
        made[target] = {
            "name": name,
            "description": prompts.fill(HANDOFF, agent=target, description=description).strip(),
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        }
    return made


def _given(spec: Spec) -> list[Any]:
    return [spec.fallback, *spec.handoffs]


def _named(given: Any, agent_names: AgentNames, where: str) -> str:
    """The name of an agent of the team."""
    return agent_names.declared(name_of(member(given)) if is_member(given) else given, where)
