"""Stores by their URL, and threads by their name."""

from __future__ import annotations

from typing import Any

from antiphon.checkpoint import PostgresSaver, Saver, SqliteSaver


def open_saver(url: str, **options: Any) -> Saver:
    """Opens the store of a URL."""
    kind = SqliteSaver if url.startswith("sqlite:") else PostgresSaver
    return kind.open(url, **options)


def config(thread: str) -> Any:
    """The config of a run in a thread."""
    return {"configurable": {"thread_id": thread}}
