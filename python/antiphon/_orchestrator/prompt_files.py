"""The texts that a team says to models by itself; they stand in the folder ``prompts``."""

from __future__ import annotations

import functools

ROUTER = "router.md"
"""The task of a router; the list of the team follows."""
DATA_WARNING = "data_warning.md"
"""What the blocks of state keys are."""
GO_ON = "go_on.md"
"""The user's last word where an agent said the last one."""


@functools.cache
def prompt(name: str) -> str:
    """The text of a prompt file, without the line break at its end."""
    from importlib import resources

    folder = resources.files("antiphon._orchestrator") / "prompts"
    return (folder / name).read_text(encoding="utf-8").removesuffix("\n")
