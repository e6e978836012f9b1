"""Where models lie on disk, and who may write there.

Layout of the cache directory::

    models/<file>            a verified model
    models/<file>.verified   size and time at which its hash was right
    models/<file>.part       a model that is being put together
    models/<file>.parts/     wheels that wait to be joined
    models/<file>.lock       held by the one process that fetches it
    models/<file>.corrupt    a file that was right once and is no more
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ModelTransportError, ValidationError
from antiphon.local.assembly import CHUNK
from antiphon.local.filelock import try_lock
from antiphon.local.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from antiphon.local.catalog import CatalogModel
    from antiphon.local.progress import Report

__all__ = ["Cache", "disk_full"]

_POLL = 0.1
"""Seconds between two looks at a lock that another process holds."""

_SLACK = 16 << 20
"""Bytes of free disk left over for the file system itself."""


class Cache:
    """The models on disk.

    Args:
        root: the directory. Default: ``ANTIPHON_CACHE``, else ``XDG_CACHE_HOME/antiphon``,
            else ``~/.cache/antiphon``.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = _default_root() if root is None else root
        self._models = self.root / "models"

    def path(self, model: CatalogModel) -> Path:
        """Where the verified file of ``model`` is, or will be."""
        return self._models / model.file

    def unfinished(self, model: CatalogModel) -> Path:
        """The file of ``model`` while it is being put together."""
        return self._beside(model, ".part")

    def staging(self, model: CatalogModel) -> Path:
        """The directory for wheels of ``model`` that are not joined yet."""
        return self._beside(model, ".parts")

    def find(self, model: CatalogModel, report: Report) -> Path | None:
        """The verified file of ``model``, or nothing when it is not here.

        The file is hashed again only when its size or time changed since it was last verified.

        Raises:
            ModelTransportError: ``local_model_corrupt`` when the file changed; it is set aside.
        """
        path = self.path(model)
        try:
            stamp = _stamp(path, model)
        except FileNotFoundError:
            return None
        if stamp["size"] == model.size:
            if _read_json(self._beside(model, ".verified")) == stamp:
                return path
            actual = _sha256(path, model, report)
            if actual == model.sha256:
                self._remember(model, stamp)
                return path
        else:
            actual = f"a file of {stamp['size']} bytes instead of {model.size}"
        raise self._set_aside(model, actual)

    @contextlib.contextmanager
    def lock(self, model: CatalogModel, report: Report) -> Iterator[None]:
        """Holds the right to fetch ``model``; waits as long as another process holds it.

        The operating system frees the lock when its holder dies.
        """
        self._models.mkdir(parents=True, exist_ok=True)
        with self._beside(model, ".lock").open("ab") as file:
            while not try_lock(file):
                there = _size(self.unfinished(model))
                report(Progress(model=model.name, stage="waiting", done=there, total=model.size))
                time.sleep(_POLL)
            yield

    def require_space(self, model: CatalogModel) -> None:
        """Checks that what is missing of ``model`` fits on the disk.

        Raises:
            ModelTransportError: ``local_disk_full``.
        """
        missing = model.size - _size(self.unfinished(model))
        needed = missing + 4 * model.parts.part_bytes + _SLACK
        free = shutil.disk_usage(self._models).free
        if free < needed:
            raise disk_full(self.root, needed=needed, free=free)

    def admit(self, model: CatalogModel) -> Path:
        """Moves the finished, verified file of ``model`` to its place, in one step."""
        path = self.path(model)
        self.unfinished(model).replace(path)
        self._remember(model, _stamp(path, model))
        shutil.rmtree(self.staging(model), ignore_errors=True)
        return path

    def _remember(self, model: CatalogModel, stamp: dict[str, object]) -> None:
        # A cache baked into a read-only image works too: it is hashed at each start.
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
            hint=f"run again to fetch it afresh; the old file is now {aside}",
        )

    def _beside(self, model: CatalogModel, suffix: str) -> Path:
        return self._models / (model.file + suffix)


def disk_full(root: Path, *, needed: int | None = None, free: int | None = None) -> Exception:
    """The error for a disk without room for a model."""
    amount = (
        "" if needed is None else f" ({needed / 1e6:.0f} MB needed, {(free or 0) / 1e6:.0f} free)"
    )
    return ModelTransportError(
        f"the disk has no room for the model{amount}: {root}",
        code="local_disk_full",
        details={"path": str(root), "needed": needed, "free": free},
        hint="free some space, set ANTIPHON_CACHE to another disk, or use a smaller model",
    )


def _default_root() -> Path:
    own = os.environ.get("ANTIPHON_CACHE", "").strip()
    try:
        if own:
            return Path(own).expanduser().absolute()
        shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
        # The XDG rules say that a relative path is to be ignored.
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "antiphon"
    except RuntimeError as error:
        raise ValidationError(
            "there is no home directory to keep models in: HOME",
            code="local_setting",
            details={"setting": "HOME"},
            hint="set ANTIPHON_CACHE to a directory that can be written",
        ) from error


def _stamp(path: Path, model: CatalogModel) -> dict[str, object]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": model.sha256}


def _sha256(path: Path, model: CatalogModel, report: Report) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            report(Progress(model=model.name, stage="verifying", done=done, total=model.size))
    return digest.hexdigest()


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
