"""What a team says to models by itself: files, and texts that a caller puts in their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from antiphon._replaced_prompts import read_prompts
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

ROUTER = "router"
"""The task of a router."""
DATA_WARNING = "data_warning"
"""What the blocks of state keys are."""
GO_ON = "go_on"
"""The user's last word where an agent said the last one."""
HANDOFF = "handoff"
"""What a tool does that hands the conversation over."""

_FIELDS: dict[str, tuple[str, ...]] = {
    ROUTER: ("agents",),
    DATA_WARNING: (),
    GO_ON: (),
    HANDOFF: ("agent", "description"),
}
"""The fields of each prompt, which are filled in a shipped text and in one that replaces it."""
_FIELD = re.compile(r"\{\{\s*(.*?)\s*\}\}", re.DOTALL)


class TeamPrompts:
    """The prompts of a team, by name.

    Raises:
        ValidationError: there is no prompt of a name (``prompt_unknown``), or a text is blank,
            cannot be read or has a field without a value (``prompt_invalid``).
    """

    def __init__(self, replaced: Mapping[str, str | os.PathLike[str]] | None = None) -> None:
        self.texts = {name: _shipped(name) for name in _FIELDS}
        """The texts, their fields not yet filled."""
        for name, text in read_prompts(replaced, "Orchestrator.prompts", ROUTER).items():
            _check(name, text)
            self.texts[name] = text.removesuffix("\n")

    def fill(self, name: str, **values: str) -> str:
        """A prompt with its fields filled; what is put in is not read again."""
        return _FIELD.sub(lambda field: values[field[1]], self.texts[name])


def _shipped(name: str) -> str:
    from importlib import resources

    folder = resources.files("antiphon._orchestrator") / "prompts"
    return (folder / f"{name}.md").read_text(encoding="utf-8").removesuffix("\n")


def _check(name: str, text: str) -> None:
    if name not in _FIELDS:
        raise ValidationError(
            f"unknown prompt of the team: {name}",
            code="prompt_unknown",
            hint=f"its prompts are {', '.join(_FIELDS)}",
        )
    if not text.strip():
        raise ValidationError(f"the prompt `{name}` is blank", code="prompt_invalid")
    if "{{" in _FIELD.sub("", text):
        raise ValidationError(
            f"a field of the prompt `{name}` is not closed: {text[text.rindex('{{') :]:.40}",
            code="prompt_invalid",
        )
    for field in _FIELD.findall(text):
        if field not in _FIELDS[name]:
            known = ", ".join(f"{{{{{one}}}}}" for one in _FIELDS[name])
            raise ValidationError(
                f"unknown field of the prompt `{name}`: {field:.40}",
                code="prompt_invalid",
                hint=f"its fields are {known}" if known else "it has no fields",
            )
