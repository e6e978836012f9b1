"""Each family of built-in tools has a public function with its settings, all of them documented."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import antiphon.tools
from antiphon._antiphon import tool_families

_FAMILIES = {one["name"]: one for one in tool_families() if one["name"] != "echo"}
_RENAMED: dict[str, dict[str, str | None]] = {
    "document_search": {"indexing": None},
    "sql": {"url": "database"},
    "web_search": {"arranging": None},
}
"""Settings that have another name in Python, or none."""
_OWN = {"prefix", "function"}
"""Parameters of the function in Python, not of the family."""


@pytest.mark.parametrize("name", _FAMILIES)
def test_a_function_has_all_settings_with_their_defaults(name: str) -> None:
    settings: dict[str, Any] = _FAMILIES[name]["settings_schema"].get("properties", {})
    other_names = _RENAMED.get(name, {})
    named = {other_names.get(setting, setting): schema for setting, schema in settings.items()}
    named.pop(None, None)
    parameters = inspect.signature(getattr(antiphon.tools, name)).parameters
    assert set(parameters) - _OWN == set(named)
    for parameter, schema in named.items():
        assert parameter is not None
        default = parameters[parameter].default
        if default is inspect.Parameter.empty or default in (None, ()):
            continue
        plain = list(default) if isinstance(default, tuple) else default
        assert plain == schema["default"], parameter


@pytest.mark.parametrize("name", _FAMILIES)
def test_each_parameter_has_a_line_in_the_docstring(name: str) -> None:
    function = getattr(antiphon.tools, name)
    text = inspect.getdoc(function) or ""
    parameters = inspect.signature(function).parameters
    assert [one for one in parameters if f"\n    {one}:" not in text] == []
    assert name in antiphon.tools.__all__
