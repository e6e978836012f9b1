"""``antiphon models``: what could answer."""

from __future__ import annotations

import importlib.util
import os
import sys

from antiphon import local
from antiphon._command.exits import Exit
from antiphon._command.plain import safe
from antiphon._model.default_model import PROVIDERS, choose

__all__ = ["choices"]


def choices() -> Exit:
    """Lists local models and providers, and says which would answer; keys are never shown."""
    runs = importlib.util.find_spec("xllamacpp") is not None
    lines = ["on this machine" + ("" if runs else ' (needs `pip install "antiphon[local]"`)')]
    for model in local.CATALOG:
        size = model.name.rpartition(":")[2]
        state = "cached" if local.cached(model.name) else f"{model.size / 1e6:.0f} MB to fetch"
        lines.append(f"  local:{size:<24}{state:<16}{model.title}")
    lines.append("by a variable of the environment")
    for variable, name in PROVIDERS.items():
        state = "set" if os.environ.get(variable, "").strip() else "not set"
        lines.append(f"  {name:<30}{state:<16}{variable}")
    lines.append(f"without --model: {choose(None, os.environ).description}")
    sys.stdout.write(safe("\n".join(lines)) + "\n")
    return Exit.ANSWERED
