"""Pages of the web as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from antiphon._builtin_tools.opening import open_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon._tool.tool import Tool


def read_page(
    *,
    allow: Sequence[str] = (),
    ports: Sequence[int] = (80, 443, 8080, 8443),
    timeout: float = 30,
    max_bytes: int = 10_000_000,
    max_characters: int = 2_000_000,
    excerpt: int = 10_000,
    render: Literal["auto", "never", "always"] = "auto",
    browser: str = "",
) -> Tool:
    """A tool `read_page` that reads web pages, PDF, office and text files as text.

    It returns the article of a page as Markdown with its title, author, date and links. Positions
    are exact: ``start`` and ``end`` of a reply are indices of the page's text, whose SHA-256 is
    ``page_id``. Addresses are checked when they are connected to, also those of redirects and
    scripts.

    Args:
        allow: what may be reached beside public addresses: ``loopback``, ``private``, a host such
            as ``wiki.example`` or ``*.example``, an address, or a network such as
            ``10.1.0.0/16``; all but networks may end in a port.
        ports: the ports at which public addresses may be reached.
        timeout: the time limit of a page, in seconds.
        max_bytes: the bytes of a page, decompressed.
        max_characters: the characters of a page that are kept.
        excerpt: the characters that one call returns; the model reads on with ``offset``.
        render: whether pages are opened in a headless Chromium, so that their scripts run:
            ``auto`` if a page has scripts but hardly any text and Chromium is installed.
        browser: the Chromium program. Default: the first one on ``PATH``.

    Returns:
        The tool. Nothing is opened before the first call.

    Raises:
        ValidationError: a setting is wrong (``tool_setting_invalid``), or ``render`` or
            ``browser`` asks for a Chromium that is not there (``browser_missing``).

    Example:
        >>> page = read_page(allow=["docs.example:8000"])
        >>> page.name
        'read_page'
    """
    settings = {
        "allow": allow,
        "ports": ports,
        "timeout": timeout,
        "max_bytes": max_bytes,
        "max_characters": max_characters,
        "excerpt": excerpt,
        "render": render,
        "browser": browser,
    }
    return open_tool("read_page", settings)
