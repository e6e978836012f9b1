"""Which file to run: a path of the user's, or a model of the catalogue."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ValidationError
from antiphon.local.cache import Cache
from antiphon.local.catalog import CatalogModel, named, of_size
from antiphon.local.fetch import fetch
from antiphon.local.gguf import require_gguf
from antiphon.local.progress import silent

if TYPE_CHECKING:
    from antiphon.local.progress import Report

__all__ = ["Weights", "cached", "ensure", "locate"]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file that is there.

    Attributes:
        name: the catalogue name, or the stem of a user's file.
        path: the file.
        entry: the entry of the catalogue that it is; none for other files.
    """

    name: str
    path: Path
    entry: CatalogModel | None


def ensure(model: str | os.PathLike[str] | None = None, *, progress: Report | None = None) -> Path:
    """Makes sure that a model is on disk and whole, and says where.

    Args:
        model: a catalogue name or alias, or the path of a .gguf file. Default: the
            catalogue's first, ``qwen2.5-coder:1.5b`` (1.1 GB). A user's file is not
            hashed, only its header is looked at.
        progress: called often while bytes are fetched or verified, for instance a
            :class:`ProgressBar`. Default: nothing is shown.

    Returns:
        The path of the file.

    Raises:
        ValidationError: ``local_model_unknown``, ``local_model_missing``,
            ``local_model_format``, ``local_cache_unusable``.
        ModelTransportError: ``local_model_unavailable``, ``local_model_corrupt``,
            ``local_disk_full``.

    Example:
        >>> from antiphon import local
        >>> local.ensure("smollm2:135m").name  # doctest: +SKIP
        'smollm2-135m-instruct-q4_1.gguf'
    """
    return locate(model, progress=progress).path


def locate(
    model: str | os.PathLike[str] | None = None, *, progress: Report | None = None
) -> Weights:
    """As :func:`ensure`, with the catalogue's knowledge of the file."""
    if model is not None and _is_path(model):
        path = Path(model).expanduser().absolute()
        require_gguf(path)
        return Weights(path.stem, path, of_size(path.stat().st_size))
    entry = named(model if isinstance(model, str) else None)
    return Weights(entry.name, fetch(entry, report=progress or silent), entry)


def cached(model: str | None = None) -> Path | None:
    """The file of a catalogue model when it is in the cache; its hash is not checked.

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
            hint="leave it out for the default model",
        )
    separators = tuple(filter(None, (os.sep, os.altsep, "/")))
    return model.lower().endswith(".gguf") or any(one in model for one in separators)
