"""The ready systems by name."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import systems as native_systems
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from antiphon.systems._system import System

__all__ = ["SystemInfo", "find", "systems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemInfo:
    """What the registry knows of a system.

    Attributes:
        name: the name, in snake case.
        description: one sentence.
        roles: the roles by name, each with a sentence.
        tools: the roles that take tools.
        prompts: the names of the prompts.
        config_schema: the JSON Schema of the settings.
        input_schema: the JSON Schema of the input.
        output_schema: the JSON Schema of the part of a result that only this system has.
    """

    name: str
    description: str
    roles: Mapping[str, str]
    tools: tuple[str, ...]
    prompts: tuple[str, ...]
    config_schema: Mapping[str, Any]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]


def systems() -> dict[str, SystemInfo]:
    """The native systems, by name."""
    found = {}
    for native in native_systems():
        lists = {name: tuple(native[name]) for name in ("tools", "prompts")}
        found[native["name"]] = SystemInfo(**{**native, **lists})
    return found


def find(name: str) -> type[System[Any]]:
    """The class of a system, by its name.

    A native system without a class in Python gets one: its results have ``output``.

    Args:
        name: for instance ``review_loop``.

    Raises:
        ValidationError: the name is unknown (``system_unknown``).
    """
    from antiphon._roles import RoleSpec
    from antiphon.systems._system import System

    known: dict[str, type[System[Any]]] = {one.name: one for one in System.__subclasses__()}
    if name in known:
        return known[name]
    native = systems()
    if name not in native:
        near = get_close_matches(name.lower().replace("-", "_"), native, 1)
        also = f"did you mean `{near[0]}`? " if near else ""
        raise ValidationError(
            f"unknown system: {name}",
            code="system_unknown",
            hint=f"{also}the systems are {', '.join(sorted(native))}",
        )
    roles = {role: RoleSpec(role, (), speaks=False, view=dict) for role in native[name].roles}
    made: type[System[Any]] = type(
        name.title().replace("_", ""),
        (System,),
        {"__doc__": native[name].description, "name": name, "_roles": roles},
    )
    return made
