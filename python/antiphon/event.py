"""What a watcher sees of a run."""

from __future__ import annotations

from antiphon._antiphon import Event

__all__ = ["Event"]
