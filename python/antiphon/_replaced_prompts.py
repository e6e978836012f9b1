"""The texts with which a caller replaces prompts, of a ready system or of a team."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    import os

__all__ = ["read_prompts"]


def read_prompts(
    given: Mapping[str, str | os.PathLike[str]] | None, names: str, example: str
) -> dict[str, str]:
    """The texts that replace prompts; a path stands for the text of its file.

    Args:
        given: texts or paths by name.
        names: where a caller finds the names, for an error.
        example: the name of a prompt, for an error.

    Raises:
        ValidationError: one cannot be read, or is no text (``prompt_invalid``).
    """
    if given is not None and not isinstance(given, Mapping):
        raise ValidationError(
            f"`prompts` must be a dict of texts or paths by name: {type(given).__name__}",
            code="prompt_invalid",
            hint=f'pass `prompts={{"{example}": "…"}}`; `{names}` has the names',
        )
    prompts = {}
    for name, text in (given or {}).items():
        if not isinstance(text, str | Path):
            raise ValidationError(
                f"the prompt `{name}` must be a string or a path: {type(text).__name__}",
                code="prompt_invalid",
            )
        try:
            prompts[name] = text if isinstance(text, str) else text.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValidationError(
                f"the prompt `{name}` cannot be read: {text}: {error}", code="prompt_invalid"
            ) from error
    return prompts
