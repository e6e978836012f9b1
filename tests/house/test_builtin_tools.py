"""The Python function of a family of built-in tools is public and documented."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

from antiphon._antiphon import tool_families
from house.source import ROOT

_FAMILIES = {family["name"]: family for family in tool_families() if family["name"] != "echo"}
_FACES = ROOT / "python/antiphon/_builtin_tools"


def faces() -> dict[str, Any]:
    """The function of each family that has one."""
    found = {}
    for name in _FAMILIES:
        if (_FACES / f"{name}.py").exists():
            found[name] = getattr(import_module(f"antiphon._builtin_tools.{name}"), name)
    return found


@pytest.mark.parametrize("name", sorted(faces()))
def test_each_keyword_has_a_line_in_the_docstring(name: str) -> None:
    function = faces()[name]
    text = inspect.getdoc(function) or ""
    missing = [
        keyword
        for keyword in inspect.signature(function).parameters
        if f"\n    {keyword}:" not in text
    ]
    assert not missing


@pytest.mark.parametrize("name", sorted(faces()))
def test_it_is_public(name: str) -> None:
    tools = import_module("antiphon.tools")
    assert getattr(tools, name) is faces()[name]
    assert name in tools.__all__
