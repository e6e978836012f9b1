"""Files of the web."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from antiphon._builtin_tools.opening import open_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._tool.tool import Tool


def download(
    root: str | os.PathLike[str],
    *,
    allow: Sequence[str] = (),
    ports: Sequence[int] = (80, 443, 8080, 8443),
    types: Sequence[str] = (),
    timeout: float = 300,
    max_bytes: int = 100_000_000,
    overwrite: bool = False,
) -> Tool:
    """A tool `download` that stores files of the web in a folder.

    It returns the name of the file in the folder (``path``), its size and its SHA-256. A file
    appears under its name only when it is complete; one that was interrupted is continued by the
    next call, if the server still has the same file. Names that servers and models propose never
    lead out of the folder.

    Args:
        root: the folder; it must exist. Give the same one to `files`, and an agent reads what it
            has downloaded.
        allow: what may be reached beside public addresses, as in `read_page`.
        ports: the ports at which public addresses may be reached.
        types: the media types that are stored, such as ``application/pdf`` or ``image/*``.
            Default: all.
        timeout: the time limit of a call, in seconds.
        max_bytes: the bytes of a file.
        overwrite: whether a file of the same name is replaced; otherwise the new one gets a
            number.

    Returns:
        The tool, with the side effect ``write``. Nothing is requested before the first call.

    Raises:
        ValidationError: a setting is wrong, or there is no such folder
            (``tool_setting_invalid``).

    Example:
        >>> import tempfile
        >>> download(tempfile.mkdtemp(), types=["application/pdf"]).name
        'download'
    """
    settings = {
        "root": os.fspath(root),
        "allow": allow,
        "ports": ports,
        "types": types,
        "timeout": timeout,
        "max_bytes": max_bytes,
        "overwrite": overwrite,
    }
    return open_tool("download", settings)
