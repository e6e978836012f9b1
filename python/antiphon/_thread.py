"""What threads may be called."""

from __future__ import annotations

from typing import Any

from antiphon._encode import well_formed
from antiphon.errors import ValidationError

_LONGEST = 512
"""Characters of a thread's name."""


def thread_name(given: Any) -> str:
    """The name of a thread, checked.

    Raises:
        ValidationError: it is no text, blank, too long, or no store can hold it
            (``thread_invalid``).
    """
    if not isinstance(given, str):
        raise _refused(f"a thread's name has to be text: {type(given).__name__}")
    if not given.strip():
        raise _refused(f"a thread's name is blank: {given!r}")
    if len(given) > _LONGEST:
        raise _refused(f"a thread's name takes at most {_LONGEST} characters, found: {len(given)}")
    if "\0" in given or well_formed(given) != given:
        raise _refused(f"a thread's name holds a character that no store keeps: {given!r}")
    return given


def fresh_name() -> str:
    """A name that nothing else has."""
    import uuid

    return str(uuid.uuid4())


def _refused(message: str) -> ValidationError:
    return ValidationError(message, code="thread_invalid", hint="name it by a short text of yours")
