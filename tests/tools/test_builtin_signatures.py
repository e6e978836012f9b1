"""The functions of built-in tools have the settings of their native families."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import antiphon.tools
from antiphon._antiphon import tool_families

_FACES: dict[str, dict[str, str | None]] = {
    "calculator": {},
    "document_search": {"indexing": None},
    "files": {},
    "http_api": {},
    "sql": {"url": "database"},
    "web_search": {},
}
"""Families with a function of their name, and settings that have another name there, or none."""
_OWN = {"prefix"}
"""Parameters of the toolset, not of the family."""


@pytest.mark.parametrize("name", _FACES)
def test_a_function_has_all_settings_with_their_defaults(name: str) -> None:
    [family] = [one for one in tool_families() if one["name"] == name]
    settings: dict[str, Any] = family["settings_schema"].get("properties", {})
    parameters = inspect.signature(getattr(antiphon.tools, name)).parameters
    renamed = {_FACES[name].get(setting, setting): schema for setting, schema in settings.items()}
    renamed.pop(None, None)
    assert set(parameters) - _OWN == set(renamed)
    for parameter, schema in renamed.items():
        assert parameter is not None
        default = parameters[parameter].default
        if default is inspect.Parameter.empty or default in (None, ()):
            continue
        assert default == schema["default"], parameter
