"""Durable threads: where they are kept, what they held, and what a state may hold.

A saver goes wherever a ``checkpointer`` is taken; so does its URL: ``memory:``, ``sqlite:`` and a
file, or ``postgres://user:password@host:5432/database``.
"""

from __future__ import annotations

from antiphon._antiphon import MemorySaver, PostgresSaver, Saver, SqliteSaver
from antiphon.checkpoint._checkpoint import Checkpoint
from antiphon.checkpoint._difference import Change, Difference
from antiphon.checkpoint._forms.failures import StoredException
from antiphon.checkpoint._registry import register

__all__ = [
    "Change",
    "Checkpoint",
    "Difference",
    "MemorySaver",
    "PostgresSaver",
    "Saver",
    "SqliteSaver",
    "StoredException",
    "register",
]
