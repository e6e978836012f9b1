"""Files below one folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from antiphon._builtin_tools.opening import open_family
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Sequence


def files(
    root: str | os.PathLike[str],
    *,
    read_only: bool = False,
    max_file_size: int = 10_000_000,
    quota: int | None = None,
    max_files: int | None = None,
    patterns: Sequence[str] = (),
    hidden: bool = False,
    prefix: str = "",
) -> Toolset:
    """Tools for the files below a folder: `read_file`, `write_file`, `list_files` and others.

    No path leads out of the folder: neither ``..``, an absolute path, a symbolic link, nor one
    that is swapped while a file is opened. A write is atomic: it leaves the old file or the new
    one.

    Args:
        root: the folder; it must exist.
        read_only: whether there are only `read_file`, `list_files` and `search_files`; otherwise
            there are also `write_file`, `append_file`, `move_file` and `delete_file`.
        max_file_size: the bytes of a file that is read or written.
        quota: the bytes of all files below the root together, which a write may not exceed.
            Default: no limit.
        max_files: the files below the root together; a write makes no further one. Default: no
            limit.
        patterns: globs of the files that are available, such as ``*.md`` for names anywhere or
            ``notes/**/*.txt`` for paths. Default: all files.
        hidden: whether files and folders whose names begin with a dot are available.
        prefix: what the names of the tools begin with, for several folders.

    Returns:
        The tools. Those that read have the side effect ``read``, the others ``write``.

    Raises:
        ValidationError: a setting is wrong, or there is no such folder
            (``tool_setting_invalid``).

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     tools = {tool.name: tool for tool in files(folder).tools}
        ...     tools["write_file"].call({"path": "notes/plan.md", "content": "Rest."})
        ...     tools["read_file"].call({"path": "notes/plan.md"})
        {'path': 'notes/plan.md', 'size': 5}
        'Rest.'
    """
    settings = {
        "root": os.fspath(root),
        "read_only": read_only,
        "max_file_size": max_file_size,
        "quota": quota,
        "max_files": max_files,
        "patterns": patterns,
        "hidden": hidden,
    }
    return Toolset(open_family("files", settings), prefix=prefix)
