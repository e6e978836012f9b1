"""Objects of a user's code that a command works with."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from antiphon.errors import ValidationError


def import_object(target: str, option: str) -> Any:
    """The object that ``module:attribute`` names, in this folder or installed.

    Raises:
        ValidationError: there is none (``team_unknown``).
    """
    module, colon, path = target.partition(":")
    if not (module and colon and path):
        raise ValidationError(f"`{option}` takes `module:attribute`: {target}", code="team_unknown")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        raise ValidationError(f"{error}: {target}", code="team_unknown") from error
    except ModuleNotFoundError as error:
        # What a module of theirs lacks is theirs to see.
        if (error.name or "") not in _parents(module):
            raise
        raise ValidationError(
            f"module not found in this folder or installed: {error.name}",
            code="team_unknown",
            hint="run the command where the module is, or install it",
        ) from error
    return found


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[: place + 1]) for place in range(len(parts))}
