"""Search in a folder of documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from antiphon._builtin_tools.opening import open_family
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

_STEP = 0.5
"""Seconds of indexing between two reports."""


def document_search(
    folder: str | os.PathLike[str],
    *,
    stemming: bool = True,
    follow_links: bool = False,
    max_file_bytes: int = 50_000_000,
    cache: str | os.PathLike[str] | None = None,
    refresh_after: float = 60,
    prefix: str = "",
) -> Toolset:
    r"""Tools that search the documents of a folder: `search_documents` and `read_document`.

    Documents are HTML, Markdown, text, PDF, Word, PowerPoint, OpenDocument, Excel and CSV files.
    `search_documents` finds passages with their path and position; `read_document` reads a
    document part by part. The first call builds an index in the cache, later ones read what has
    changed. Hidden files are left out, and damaged ones; nothing is written to the folder.

    Args:
        folder: the folder; its subfolders are included.
        stemming: whether words with the same English stem are the same.
        follow_links: whether symbolic links are followed, also out of the folder.
        max_file_bytes: the bytes of a file; larger ones are left out.
        cache: the folder of all indexes, which only its owner may read. Default:
            ``antiphon/documents`` below ``XDG_CACHE_HOME`` or ``~/.cache``.
        refresh_after: the time after which a call looks for changes in the folder again, in
            seconds.
        prefix: what the names of the tools begin with, for several folders.

    Returns:
        The two tools. Nothing is indexed before the first call.

    Raises:
        ValidationError: a setting is wrong, or there is no such folder
            (``tool_setting_invalid``).

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "tea.md").write_text("# Tea\n\nSteep green tea for two minutes.\n")
        >>> search, read = document_search(folder, cache=tempfile.mkdtemp()).tools
        >>> search.call({"query": "How long does tea steep?"})["results"][0]["path"]
        'tea.md'
    """
    settings = {
        "folder": os.fspath(folder),
        "stemming": stemming,
        "follow_links": follow_links,
        "max_file_bytes": max_file_bytes,
        "cache": None if cache is None else os.fspath(cache),
        "refresh_after": refresh_after,
    }
    return Toolset(open_family("document_search", settings), prefix=prefix)


def indexed_folder(
    folder: str | os.PathLike[str], watch: Callable[[dict[str, Any]], None]
) -> Toolset:
    """The tools of a folder whose index is brought up to date first.

    Args:
        folder: the folder.
        watch: called with a report about twice a second, and with the last one. A report has the
            keys ``documents``, ``files``, ``read``, ``removed``, ``left``, ``skipped`` and
            ``notes``; ``left`` is 0 in the last one.

    Raises:
        ValidationError: as `document_search`.
        ToolError: the folder or the cache cannot be used (``document_index_unavailable``).
    """
    settings = {"folder": os.fspath(folder), "indexing": True}
    search, read, index = open_family("document_search", settings)
    while True:
        report: dict[str, Any] = index.call({"seconds": _STEP})
        watch(report)
        if not report["left"]:
            return Toolset([search, read])
