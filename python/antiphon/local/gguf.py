"""The first bytes of a GGUF file, enough to tell a model from something else."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["require_gguf"]

_HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""

_VERSIONS = (2, 3)
_MOST_ENTRIES = 10_000_000


def require_gguf(path: Path) -> None:
    """Checks that ``path`` is a file that starts like a GGUF model.

    Raises:
        ValidationError: ``local_model_missing`` when there is no readable file,
            ``local_model_format`` when it is something else.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
    except OSError as error:
        raise ValidationError(
            f"the model file cannot be read ({_reason(error)}): {path}",
            code="local_model_missing",
            details={"path": str(path)},
            hint="check the path, or name a model of the catalogue to have it fetched",
        ) from error
    fault = _fault(head)
    if fault is not None:
        raise ValidationError(
            f"the model file is not a GGUF model ({fault}): {path}",
            code="local_model_format",
            details={"path": str(path), "fault": fault},
            hint="only .gguf files can be run; other formats must be converted first",
        )


def _fault(head: bytes) -> str | None:
    if len(head) < _HEADER.size:
        return f"it ends after {len(head)} bytes"
    magic, version, tensors, entries = _HEADER.unpack(head)
    if magic != b"GGUF":
        return "it does not start with `GGUF`"
    if version not in _VERSIONS:
        return f"version {version} is not supported"
    if not 0 < tensors < _MOST_ENTRIES or not 0 < entries < _MOST_ENTRIES:
        return "its header is damaged"
    return None


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
