"""Opening families of native tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import open_tools
from antiphon._builtin_tools.lists import plain_lists
from antiphon._tool.tool import Tool
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_tool(family: str, settings: Mapping[str, Any] | None = None) -> Tool:
    """The tool of a family that has one.

    Args:
        family: its name in the native registry.
        settings: JSON values by name, and iterables of them where a list is wanted; those that
            are ``None`` keep their defaults.

    Raises:
        ValidationError: a setting is wrong (``tool_setting_invalid``), or there is no such
            family of one tool (``tool_family_unknown``).
    """
    found = open_family(family, settings)
    if len(found) != 1:
        names = ", ".join(tool.name for tool in found)
        raise ValidationError(
            f"the family `{family}` does not have one tool: {names}", code="tool_family_unknown"
        )
    return found[0]


def open_family(family: str, settings: Mapping[str, Any] | None = None) -> list[Tool]:
    """The tools of a family, in its order.

    Args:
        family: as `open_tool`.
        settings: as `open_tool`.

    Raises:
        ValidationError: a setting is wrong (``tool_setting_invalid``), or there is no such
            family (``tool_family_unknown``).
    """
    given = {key: value for key, value in (settings or {}).items() if value is not None}
    plain = plain_lists(family, given)
    return [Tool.from_native(handle) for handle in open_tools(family, plain)]
