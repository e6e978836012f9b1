"""The options of ``antiphon ask`` for a file of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["add_batch", "misused"]

_OF_BATCH = ("out", "files", "concurrency", "redo_failed", "store")
_OF_ONE = ("question", "file", "trace")


def add_batch(group: argparse._ArgumentGroup) -> None:
    """Adds them to the options of ``antiphon ask``."""
    group.add_argument(
        "--batch", metavar="FILE", help="JSON lines with `task_id`, `question`, `file_name`"
    )
    group.add_argument("--out", metavar="FILE", help="where answers are added, line by line")
    group.add_argument("--files", metavar="FOLDER", help="attached files; by default beside FILE")
    group.add_argument("--concurrency", type=int, metavar="N", help="questions at a time")
    group.add_argument(
        "--redo-failed", action="store_true", help="ask again what was not answered before"
    )
    group.add_argument(
        "--store",
        metavar="URL",
        help="where questions are kept: sqlite:FILE or postgres://…; else the variable "
        "ANTIPHON_CHECKPOINTER; else, until all have ended, a file beside the answers",
    )


def misused(options: argparse.Namespace) -> str | None:
    """What does not go together, if anything."""
    if options.command != "ask":
        return None
    is_batch = options.batch is not None
    if not is_batch and options.question is None:
        return "ask a question, or name a file of them: --batch FILE --out FILE"
    if is_batch and options.out is None:
        return "a batch needs a file for its answers: --out FILE"
    for name in _OF_ONE if is_batch else _OF_BATCH:
        if getattr(options, name) not in (None, False):
            told = name if name == "question" else f"--{name.replace('_', '-')}"
            return f"{told} goes {'without' if is_batch else 'with'} --batch"
    return None
