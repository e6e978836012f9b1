"""PDF files from text and Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from antiphon._builtin_tools.opening import open_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._tool.tool import Tool


def write_pdf(
    root: str | os.PathLike[str],
    *,
    fonts: Sequence[str | os.PathLike[str]] = (),
    font_name: str | None = None,
    fonts_dir: str | os.PathLike[str] | None = None,
    system_fonts: bool = True,
    page_size: Literal["a4", "letter"] = "a4",
    font_size: float = 10.5,
    margins: float | Sequence[float] = 56.7,
    page_numbers: bool = True,
    max_pages: int = 500,
    max_file_size: int = 10_000_000,
) -> Tool:
    r"""A tool `write_pdf` that writes Markdown or plain text as a PDF file.

    Markdown has headings, which also are the outline of the file, paragraphs, emphasis, lists,
    task lists, quotes, code, links, rules, tables whose header is repeated on each page, and
    images of the folder (PNG, JPEG, GIF, WebP). HTML is shown as text, and nothing is loaded from
    a network. Text runs in both directions. A call can choose a font, its size and margins.
    The result has the keys ``path``, ``size``, ``pages`` and, if no font has some characters,
    ``missing_characters``.

    Args:
        root: the folder; it must exist, and no path leads out of it. Give the same one to
            `files`, and an agent turns what it has written into a PDF file.
        fonts: font files (TrueType, OpenType, collections). The family of the first is that of
            the text, the others are used for characters that it lacks. Built in are Noto Sans
            and Noto Sans Mono for Latin, Greek and Cyrillic, and DejaVu Sans for symbols,
            Hebrew, Arabic, Armenian and Georgian.
        font_name: the family that the text is set in: one of ``fonts``, of ``fonts_dir``, of this
            machine (with ``system_fonts``), ``Noto Sans`` or ``Noto Sans Mono``, for which
            ``Helvetica`` and ``Courier`` stand too. By default that of the first of ``fonts``,
            or ``Noto Sans``.
        fonts_dir: a folder of font files that a call may name (``font``, such as
            ``Body-Regular.ttf``, or ``font_name``). A font that cannot be used gives way to those
            above, and the result says why (``unusable_font``).
        system_fonts: whether fonts of this machine are used for characters that no other font
            has. Without, the same text makes the same file on each machine.
        page_size: the size of the paper.
        font_size: the size of the text, in points.
        margins: the space between the text and the edges of the paper, in points (72 are an
            inch): one number, or four for top, right, bottom and left. They leave 144 points in
            each direction, and 18 at the bottom if pages have numbers. The default is 2 cm.
        page_numbers: whether pages have numbers.
        max_pages: the pages of a file.
        max_file_size: the bytes of a file that is written, and of an image that is read. A text
            has 2,000,000 at most.

    Returns:
        The tool, with the side effect ``write``.

    Raises:
        ValidationError: a setting is wrong, there is no such folder or family, or a file holds no
            font (``tool_setting_invalid``).

    Example:
        >>> import tempfile
        >>> write = write_pdf(tempfile.mkdtemp())
        >>> text = "# Tea\n\n| Tea | Minutes |\n|---|---:|\n| green | 2 |\n"
        >>> write.call({"path": "tea.pdf", "content": text})["pages"]
        1
    """
    settings = {
        "root": os.fspath(root),
        "fonts": fonts,
        "font_name": font_name,
        "fonts_dir": None if fonts_dir is None else os.fspath(fonts_dir),
        "system_fonts": system_fonts,
        "page_size": page_size,
        "font_size": font_size,
        "margins": _plain(margins),
        "page_numbers": page_numbers,
        "max_pages": max_pages,
        "max_file_size": max_file_size,
    }
    return open_tool("write_pdf", settings)


def _plain(margins: Any) -> Any:
    """Several as a list; ``None``, as for other settings, is the default."""
    is_several = isinstance(margins, Iterable) and not isinstance(margins, str)
    return list(margins) if is_several else margins
