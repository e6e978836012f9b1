"""The store of a command."""

from __future__ import annotations

import os
from pathlib import Path
from re import fullmatch

from antiphon._thread_store import saver_of
from antiphon.checkpoint import PostgresSaver, Saver, SqliteSaver
from antiphon.errors import StateError, ValidationError

STORE = "ANTIPHON_CHECKPOINTER"
"""The variable that names the store if no option does."""
KEY = "ANTIPHON_CHECKPOINTER_KEY"
"""The variable that holds the key of an encrypted store: 64 hexadecimal digits. While keys
change it holds several, with commas between them: the first one writes, each of them reads."""


def open_store(given: str | None) -> Saver:
    """Opens an existing store: a URL or a SQLite file. Default: ``ANTIPHON_CHECKPOINTER``.

    Raises:
        ValidationError: nothing names a store (``store_missing``), or what does is no URL
            of one; or the key is none (``call_invalid``).
        StateError: it cannot be opened.
    """
    url = given or os.environ.get(STORE, "").strip()
    if not url:
        raise no_store()
    file = Path(url.removeprefix("sqlite:"))
    # What has no scheme can be a path alone.
    if url.startswith("sqlite:") or ":" not in url or file.exists():
        # What is unclear is refused by the saver, which says what to write.
        if not file.exists() and not fullmatch("sqlite://(?!//).*", url):
            raise StateError(
                f"file not found: {file}",
                code="store_unavailable",
                hint="check the path; the file is created when the first run is stored",
            )
        return SqliteSaver.open(url, key=_key())
    if url.startswith(("postgres:", "postgresql:")):
        return PostgresSaver.open(url, key=_key())
    try:
        saver = saver_of(url)
    except ValueError as error:
        raise ValidationError(str(error), code="call_invalid") from error
    if saver is None or url.startswith("memory:"):
        raise ValidationError(
            f"a store in memory cannot be used from the command line: {url}", code="call_invalid"
        )
    return saver


def no_store() -> ValidationError:
    """The error of a command that needs a store and has none."""
    return ValidationError(
        f"no store: {STORE} is not set",
        code="store_missing",
        hint="pass --store sqlite:runs.db, or set the variable",
    )


def create_store(given: str | None) -> Saver | None:
    """Opens the store of a URL, and creates it if needed. Default: ``ANTIPHON_CHECKPOINTER``.

    Raises:
        ValidationError: it is the URL of no store that lasts, or the key is none
            (``call_invalid``).
        StateError: it cannot be opened.
    """
    url = given or os.environ.get(STORE, "").strip()
    if not url:
        return None
    if url.startswith("sqlite:"):
        return SqliteSaver.open(url, key=_key())
    if url.startswith(("postgres:", "postgresql:")):
        return PostgresSaver.open(url, key=_key())
    raise ValidationError(
        f"the store must be `sqlite:FILE` or `postgres://...`, found: {url.partition(':')[0]}",
        code="call_invalid",
    )


def _key() -> list[bytes] | None:
    given = os.environ.get(KEY, "").strip()
    if not given:
        return None
    keys = [key.strip() for key in given.split(",")]
    for key in keys:
        if not fullmatch("[0-9A-Fa-f]{64}", key):
            raise ValidationError(
                f"`{KEY}` must be 64 hexadecimal digits, found: {len(key)} characters",
                code="call_invalid",
            )
    return [bytes.fromhex(key) for key in keys]
