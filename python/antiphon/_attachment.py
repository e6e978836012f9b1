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
        return _pair(given)
    if not isinstance(given, str | os.PathLike):
        raise _malformed(type(given).__name__)
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


def _pair(given: tuple[object, ...]) -> tuple[str, bytes]:
    match given:
        case (str() as name, bytes() | bytearray() | memoryview() as content):
            return name, _text(name, bytes(content))
    raise _malformed(f"a tuple of {', '.join(type(one).__name__ for one in given) or 'nothing'}")


def _malformed(found: str) -> ValidationError:
    return ValidationError(
        f"a file must be a path, or a name and bytes: {found}",
        code="attachment_unreadable",
        hint='write `file="notes.txt"` or `file=("notes.txt", b"the text")`',
    )


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
