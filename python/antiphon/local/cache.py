"""The cache of models on disk.

Layout of the cache directory::

    models/<file>            a verified model
    models/<file>.verified   its size, time and hash when it was verified
    models/<file>.part       an unfinished download
    models/<file>.parts/     wheels that are not joined yet
    models/<file>.lock       held by the process that downloads it
    models/<file>.corrupt    a file that was changed after it had been verified
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local.package_index import scratch_bytes
from antiphon.local.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.local.catalog import CatalogModel
    from antiphon.local.progress import Report

__all__ = ["Cache", "disk_full", "file_size"]

_POLL_SECONDS = 0.1
_SLACK = 16 << 20
"""Bytes that stay free for the file system itself."""


class Cache:
    """The models on disk.

    The default `root` is ``ANTIPHON_CACHE``, else ``XDG_CACHE_HOME/antiphon``, else
    ``~/.cache/antiphon``.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = _default_root() if root is None else root
        self._models = self.root / "models"

    def path(self, model: CatalogModel) -> Path:
        """Return the path of the verified file of ``model``, which may not exist yet."""
        return self._models / model.file

    def unfinished(self, model: CatalogModel) -> Path:
        """Return the path of the unfinished download of ``model``."""
        return self._beside(model, ".part")

    def staging(self, model: CatalogModel) -> Path:
        """Return the folder for wheels of ``model`` that are not joined yet; create it."""
        folder = self._beside(model, ".parts")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def find(self, model: CatalogModel, report: Report) -> Path | None:
        """Return the verified file of ``model``, or ``None`` if it is not here.

        The file is hashed again only if its size or time changed since it was verified.

        Raises:
            ModelTransportError: ``local_model_corrupt`` when the file changed; it is set aside.
        """
        path = self.path(model)
        try:
            stamp = _stamp(path, model)
        except FileNotFoundError:
            return None
        if _read_json(self._beside(model, ".verified")) == stamp:
            return path
        actual = _sha256(path, model, report)
        if actual == model.sha256:
            self._remember(model, stamp)
            return path
        raise self._set_aside(model, actual)

    @contextlib.contextmanager
    def lock(self, model: CatalogModel, report: Report) -> Iterator[None]:
        """Hold the right to download ``model``; wait while another process holds it.

        The operating system releases the lock when its holder dies.
        """
        from filelock import FileLock, Timeout

        self._models.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._beside(model, ".lock"))
        while not lock.is_locked:
            try:
                lock.acquire(timeout=_POLL_SECONDS)
            except Timeout:
                there = file_size(self.unfinished(model))
                report(Progress(model=model.name, stage="waiting", done=there, total=model.size))
        try:
            yield
        finally:
            lock.release()

    def require_space(self, model: CatalogModel) -> None:
        """Raise ``local_disk_full`` if the rest of ``model`` does not fit on the disk."""
        missing = model.size - file_size(self.unfinished(model))
        needed = missing + scratch_bytes(model.parts) + _SLACK
        free = shutil.disk_usage(self._models).free
        if free < needed:
            raise disk_full(self.root, needed=needed, free=free)

    def admit(self, model: CatalogModel, report: Report) -> Path:
        """Verify the unfinished download of ``model`` and move it to its place, atomically.

        Raises:
            ModelTransportError: ``local_model_mismatch``; the file is deleted.
        """
        path, unfinished = self.path(model), self.unfinished(model)
        actual = _sha256(unfinished, model, report)
        if actual != model.sha256:
            unfinished.unlink()
            raise ModelTransportError(
                "the downloaded file is not the pinned model: expected sha256"
                f" {model.sha256}, got {actual}",
                code="local_model_mismatch",
                details={"expected": model.sha256, "actual": actual},
            )
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
        self._remember(model, _stamp(path, model))
        shutil.rmtree(self.staging(model), ignore_errors=True)
        return path

    def _remember(self, model: CatalogModel, stamp: dict[str, object]) -> None:
        # Without this note, as in a read-only image, the file is hashed at each start.
        with contextlib.suppress(OSError):
            note = self._beside(model, ".verified")
            draft = note.with_name(f"{note.name}.{os.getpid()}")
            draft.write_text(json.dumps(stamp), encoding="ascii")
            draft.replace(note)

    def _set_aside(self, model: CatalogModel, actual: str) -> ModelTransportError:
        path = self.path(model)
        aside = self._beside(model, ".corrupt")
        # Another process may have found and moved it a moment ago.
        with contextlib.suppress(FileNotFoundError):
            path.replace(aside)
        return ModelTransportError(
            f"the cached model `{model.name}` was changed on disk: expected sha256"
            f" {model.sha256}, got {actual}",
            code="local_model_corrupt",
            details={"path": str(path), "expected": model.sha256, "actual": actual},
            hint=f"run again to download it; the old file is now {aside}",
        )

    def _beside(self, model: CatalogModel, suffix: str) -> Path:
        return self._models / (model.file + suffix)


def _sha256(path: Path, model: CatalogModel, report: Report) -> str:
    """Hash the file at ``path``; a file of the wrong size is named by its size instead."""
    size = file_size(path)
    if size != model.size:
        return f"a file of {size} bytes instead of {model.size}"
    report(Progress(model=model.name, stage="verifying", done=0, total=size))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    report(Progress(model=model.name, stage="verifying", done=size, total=size))
    return digest


def disk_full(root: Path, *, needed: int | None = None, free: int | None = None) -> Exception:
    """Build the error for a disk without space for a model."""
    amount = (
        "" if needed is None else f" ({needed / 1e6:.0f} MB needed, {(free or 0) / 1e6:.0f} free)"
    )
    return ModelTransportError(
        f"the disk has no space for the model{amount}: {root}",
        code="local_disk_full",
        details={"path": str(root), "needed": needed, "free": free},
        hint="free some space, set ANTIPHON_CACHE to another disk, or use a smaller model",
    )


def file_size(path: Path) -> int:
    """Return the size of the file at ``path``; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _default_root() -> Path:
    own = os.environ.get("ANTIPHON_CACHE", "").strip()
    try:
        if own:
            return Path(own).expanduser().absolute()
        shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
        # The XDG specification ignores relative paths.
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "antiphon"
    except RuntimeError as error:
        raise ValidationError(
            "no home directory for the model cache: HOME is not set",
            code="local_setting",
            details={"setting": "HOME"},
            hint="set ANTIPHON_CACHE to a writable directory",
        ) from error


def _stamp(path: Path, model: CatalogModel) -> dict[str, object]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": model.sha256}


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
