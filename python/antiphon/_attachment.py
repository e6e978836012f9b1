"""Files attached to questions."""

from __future__ import annotations

import os
from pathlib import Path

from antiphon.errors import ValidationError

FileGiven = str | os.PathLike[str] | tuple[str, bytes]
"""A path, or a name and the content."""

_LIMIT = 64 * 1024
"""Bytes of a file."""


def read_file(given: FileGiven | None) -> tuple[str, bytes] | None:
    """The name and content of a file, as the engine takes them.

    Raises:
        ValidationError: it cannot be read (``attachment_unreadable``), is too large
            (``attachment_too_large``), or is no UTF-8 text (``attachment_not_text``).
    """
    if given is None:
        return None
    if isinstance(given, tuple):
        name, content = given
        return name, _text(name, bytes(content))
    path = Path(given)
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValidationError(
            f"the attached file cannot be read ({reason.lower()}): {path}",
            code="attachment_unreadable",
            details={"path": str(path)},
        ) from error
    if len(content) > _LIMIT:
        raise ValidationError(
            f"the attached file is larger than 64 KiB: {path}",
            code="attachment_too_large",
            details={"path": str(path), "limit": _LIMIT},
            hint="attach the relevant part, or give the researcher a tool that reads the file",
        )
    return path.name, _text(path.name, content)


def _text(name: str, content: bytes) -> bytes:
    # The engine checks it too, but a model may have been fetched by then.
    try:
        content.decode()
    except UnicodeDecodeError:
        raise ValidationError(
            f"the attached file is not UTF-8 text: {name}",
            code="attachment_not_text",
            hint="convert it to text, or give the researcher a tool that reads it",
        ) from None
    return content
