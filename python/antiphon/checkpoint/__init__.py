"""Durable threads: where they are kept, what they held, and what a state may hold.

A saver goes wherever a ``checkpointer`` is taken; so does its URL: ``memory:``, ``sqlite:`` and a
file, or ``postgres://user:password@host:5432/database``. `AntiphonSaver` is for graphs of LangGraph
itself, and needs the extra ``langgraph``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._antiphon import (
    CheckpointSummary,
    MemorySaver,
    PostgresSaver,
    PruneReport,
    RekeyReport,
    RunSummary,
    Saver,
    SqliteSaver,
    ThreadDetail,
    ThreadSummary,
)
from antiphon._serialization.exceptions import StoredException
from antiphon._serialization.registry import register
from antiphon.checkpoint._checkpoint import Change, Checkpoint, Difference

if TYPE_CHECKING:
    from antiphon.checkpoint._langgraph.saver import AntiphonSaver

__all__ = [
    "AntiphonSaver",
    "Change",
    "Checkpoint",
    "CheckpointSummary",
    "Difference",
    "InMemorySaver",
    "MemorySaver",
    "PostgresSaver",
    "PruneReport",
    "RekeyReport",
    "RunSummary",
    "Saver",
    "SqliteSaver",
    "StoredException",
    "ThreadDetail",
    "ThreadSummary",
    "register",
]


InMemorySaver = MemorySaver
"""LangGraph's name of `MemorySaver`."""


def __getattr__(name: str) -> Any:
    if name != "AntiphonSaver":
        message = f"module `antiphon.checkpoint` has no attribute: {name}"
        raise AttributeError(message)
    try:
        from antiphon.checkpoint._langgraph.saver import AntiphonSaver
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"langgraph", "langchain_core"}:
            raise
        message = (
            "`AntiphonSaver` needs LangGraph, which comes with: pip install antiphon[langgraph]"
        )
        raise ImportError(message, name=error.name) from error
    globals()[name] = AntiphonSaver
    return AntiphonSaver


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
