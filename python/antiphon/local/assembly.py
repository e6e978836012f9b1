"""A model file that grows piece by piece and is hashed while it grows."""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING, Self

from antiphon.errors import ModelTransportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from antiphon.local.catalog import CatalogModel

__all__ = ["CHUNK", "DISK_FULL", "Assembly"]

CHUNK = 1 << 20
"""Bytes read, hashed and written at a time."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the operating system answers to a write that finds no room."""


class Assembly:
    """The unfinished file of ``model`` at ``path``; what an earlier attempt left is kept.

    Args:
        path: the unfinished file.
        model: what it must become.
        unit: only whole units of so many bytes are kept from an earlier attempt,
            because a source hands out units of that size.
        tick: called with the bytes hashed so far while old bytes are read again.
    """

    def __init__(
        self, path: Path, model: CatalogModel, *, unit: int, tick: Callable[[int], None]
    ) -> None:
        self.path = path
        self.model = model
        self.written = 0
        self._hash = hashlib.sha256()
        self._file = path.open("a+b")
        try:
            self._reread(unit, tick)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the file; what is written stays for the next attempt."""
        self._file.close()

    @property
    def missing(self) -> int:
        """Bytes still to come."""
        return self.model.size - self.written

    def write(self, chunk: bytes) -> None:
        """Appends ``chunk``.

        Raises:
            ModelTransportError: ``local_source_failed`` when the source sends too much.
        """
        if len(chunk) > self.missing:
            raise ModelTransportError(
                f"the source sends more bytes than the model has: {self.model.size}",
                code="local_source_failed",
            )
        self._file.write(chunk)
        self._hash.update(chunk)
        self.written += len(chunk)

    def restart(self) -> None:
        """Drops everything written so far."""
        self._file.truncate(0)
        self._hash = hashlib.sha256()
        self.written = 0

    def seal(self) -> None:
        """Flushes to disk and checks the hash; a wrong file is dropped, so the next source is free.

        Raises:
            ModelTransportError: ``local_model_mismatch``.
        """
        actual = self._hash.hexdigest()
        if self.missing or actual != self.model.sha256:
            size = self.written
            self.restart()
            raise ModelTransportError(
                f"the fetched file is not the pinned model: expected sha256 {self.model.sha256}"
                f" and {self.model.size} bytes, got {actual} and {size} bytes",
                code="local_model_mismatch",
                details={"expected": self.model.sha256, "actual": actual, "size": size},
            )
        self._file.flush()
        os.fsync(self._file.fileno())

    def _reread(self, unit: int, tick: Callable[[int], None]) -> None:
        there = self._file.seek(0, os.SEEK_END)
        keep = there if there == self.model.size else there // unit * unit
        if keep > self.model.size:
            keep = 0
        self._file.truncate(keep)
        self._file.seek(0)
        while self.written < keep:
            chunk = self._file.read(min(CHUNK, keep - self.written))
            self._hash.update(chunk)
            self.written += len(chunk)
            tick(self.written)
