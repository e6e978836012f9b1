"""The model file to run: a user's own, or a model of the catalogue."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ValidationError
from antiphon.local.cache import Cache
from antiphon.local.catalog import CatalogModel, named, of_size
from antiphon.local.extra import require_extra
from antiphon.local.fetch import fetch
from antiphon.local.progress import silent

if TYPE_CHECKING:
    from antiphon.local.progress import Report

__all__ = ["Weights", "cached", "check", "ensure", "locate"]

_HEADER = struct.Struct("<4sIQQ")
"""Magic, version, number of tensors, number of metadata entries."""

_VERSIONS = (2, 3)
_MOST_ENTRIES = 10_000_000


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file on disk.

    Attributes:
        name: the catalogue name, or the stem of a user's file.
        path: the file.
        entry: its entry in the catalogue; ``None`` for other files.
    """

    name: str
    path: Path
    entry: CatalogModel | None


def ensure(model: str | os.PathLike[str] | None = None, *, progress: Report | None = None) -> Path:
    """Return the file of a model; download and verify it if necessary.

    Args:
        model: a catalogue name or alias, or the path of a .gguf file. Default: the first of the
            catalogue, ``qwen2.5-coder:1.5b`` (1.1 GB). Of a user's own file only the header is
            checked.
        progress: called often during download and verification, for instance a
            :class:`ProgressBar`. Default: no display.

    Returns:
        The path of the file.

    Raises:
        ValidationError: ``local_model_unknown``, ``local_model_missing``,
            ``local_model_format``, ``local_cache_unusable``, ``local_runtime_missing``.
        ModelTransportError: ``local_model_unavailable``, ``local_model_corrupt``,
            ``local_disk_full``.

    Example:
        >>> from antiphon import local
        >>> local.ensure("smollm2:135m").name  # doctest: +SKIP
        'smollm2-135m-instruct-q4_1.gguf'
    """
    return locate(model, progress=progress).path


def check(model: str | os.PathLike[str] | None = None) -> None:
    """Check a model without downloading or starting it.

    Args:
        model: as for :func:`ensure`.

    Raises:
        ValidationError: ``local_model_unknown``, ``local_model_missing``,
            ``local_model_format``, ``local_runtime_missing``.

    Example:
        >>> from antiphon import local
        >>> local.check("smollm2:135m")  # doctest: +SKIP
    """
    if model is not None and _is_path(model):
        _require_gguf(Path(model).expanduser().absolute())
    else:
        named(model if isinstance(model, str) else None)
    require_extra("xllamacpp")


def locate(
    model: str | os.PathLike[str] | None = None, *, progress: Report | None = None
) -> Weights:
    """Return the file as :func:`ensure` does, with its catalogue entry."""
    if model is not None and _is_path(model):
        path = Path(model).expanduser().absolute()
        _require_gguf(path)
        return Weights(path.stem, path, of_size(path.stat().st_size))
    entry = named(model if isinstance(model, str) else None)
    return Weights(entry.name, fetch(entry, report=progress or silent), entry)


def cached(model: str | None = None) -> Path | None:
    """Return the cached file of a catalogue model, if any; its hash is not checked.

    Raises:
        ValidationError: ``local_model_unknown``.
    """
    path = Cache().path(named(model))
    return path if path.is_file() else None


def _is_path(model: str | os.PathLike[str]) -> bool:
    if not isinstance(model, str):
        return True
    if not model.strip():
        raise ValidationError(
            f"the local model's name is empty: {model!r}",
            code="local_model_unknown",
            hint="omit it for the default model",
        )
    separators = tuple(filter(None, (os.sep, os.altsep, "/")))
    return model.lower().endswith(".gguf") or any(one in model for one in separators)


def _require_gguf(path: Path) -> None:
    """Check that the file at ``path`` has the header of a GGUF model."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
    except OSError as error:
        raise ValidationError(
            f"the model file cannot be read ({_reason(error)}): {path}",
            code="local_model_missing",
            details={"path": str(path)},
            hint="check the path, or use a model of the catalogue, which is downloaded",
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
