"""The implementations of the roles of a system, and their tools."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import systems
from antiphon._orchestrator.declaration import TeamBase, is_agent
from antiphon._roles import RoleSpec, SystemBase, as_role, as_tools, tools_in
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from antiphon.tools import Tool

__all__ = [
    "check_names",
    "check_settings",
    "implementation_of",
    "model_of_all",
    "tools_by_role",
    "tools_of",
]


def check_names(system: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse roles that the system does not have.

    Raises:
        ValidationError: there is one (``role_unknown``).
    """
    for name in given:
        if name not in known:
            raise ValidationError(
                f"the system `{system}` does not have the role: {name}",
                code="role_unknown",
                details={"role": name},
                hint=f"its roles are {', '.join(known)}",
            )


def check_settings(system: str, given: Iterable[str], arguments: Iterable[str]) -> None:
    """Refuse unknown settings, with a hint at what was meant.

    The engine refuses them too, but knows neither the roles nor the options of Python.

    Args:
        system: the name of the system.
        given: the names of the settings.
        arguments: the names of the arguments that are no settings.

    Raises:
        ValidationError: there is one (``system_setting_invalid``).
    """
    (schema,) = (one["config_schema"] for one in systems() if one["name"] == system)
    settings = list(schema["properties"])
    given_by_name = [name for name in arguments if name != "settings"]
    for name in given:
        if name in settings:
            continue
        near = get_close_matches(name, [*arguments, *settings], 1)
        raise ValidationError(
            f"unknown setting of the {system.replace('_', ' ')}: {name}",
            code="system_setting_invalid",
            details={"setting": name},
            hint=f"did you mean `{near[0]}`?"
            if near
            else f"its options are {', '.join(given_by_name)}; its settings are "
            f"{', '.join(settings)}",
        )


def model_of_all(given: Any) -> dict[str, Any]:
    """The implementation of the roles that are not named."""
    if is_agent(given) or isinstance(given, TeamBase | SystemBase):
        kind = "an agent" if is_agent(given) else "a system"
        raise ValidationError(
            f"{kind} cannot have all roles: {given!r}",
            code="role_invalid",
            hint="name the role: `ReviewLoop(critic=MyCritic())`",
        )
    return as_role(RoleSpec("model", (), speaks=False, view=dict), given)


def implementation_of(name: str, role: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """A role with the model of all roles, unless it has its own."""
    if "act" in role or not role:
        return role or {**shared, "tags": {"agent": name}, "is_shared": "act" not in shared}
    if "act" in shared and "model" not in role:
        raise ValidationError(
            f"no model for the role `{name}`; set one on the agent or pass `model=`",
            code="role_invalid",
            details={"role": name},
        )
    return {**shared, "tags": {"agent": name}, **role}


def tools_of(
    known: Mapping[str, dict[str, Any]],
    shared: Iterable[Any],
    named: Mapping[str, Iterable[Any] | None],
) -> dict[str, Any]:
    """The tools of roles, by name.

    The shared tools go to the roles that have no tools. A function, an agent with a
    `act`, and an agent that lists its tools have their own.
    """
    everybodys = as_tools(shared)
    found = {}
    for name, own in named.items():
        role = known.get(name, {})
        brings = "act" in role or "tools" in role
        # The same list for several roles says that their tools are the same.
        given = everybodys if not brings else []
        found[name] = given if own is None else as_tools(own)
    return {name: tools for name, tools in found.items() if tools}


def tools_by_role(
    known: Mapping[str, dict[str, Any]], shared: Mapping[str, Any]
) -> dict[str, tuple[Tool, ...]]:
    """The tools of each role: those that its implementation brings, and those of the system."""
    found = {name: tools_in(role) for name, role in known.items()}
    for name, given in shared.items():
        found[name] = (*found.get(name, ()), *tools_in({"tools": given}))
    return found
