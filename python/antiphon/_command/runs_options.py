"""What follows ``antiphon runs``."""

from __future__ import annotations

import argparse

from antiphon._command.amount import count, seconds, size

__all__ = ["add_runs"]

_STATUSES = (
    "running",
    "paused",
    "ended",
    "failed",
    "orphaned",
    "empty",
    "unreadable",
    "foreign",
)


def add_runs(parser: argparse.ArgumentParser, epilog: str) -> None:
    """Adds the commands of ``antiphon runs`` to its parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    store = _store()

    found = actions.add_parser("list", help="list threads", parents=[store], epilog=epilog)
    found.add_argument("--status", choices=_STATUSES, help="only those")
    found.add_argument("--graph", metavar="NAME", help="only runs of this graph or team")
    found.add_argument("--after", metavar="THREAD", help="only those after this name")
    found.add_argument("--limit", type=count, default=100, help="at most so many (100)")
    found.add_argument("--json", action="store_true", help="write one JSON object")

    shown = actions.add_parser("show", help="show one thread", parents=[store], epilog=epilog)
    shown.add_argument("thread")
    shown.add_argument("--limit", type=count, default=20, help="at most so many checkpoints (20)")
    shown.add_argument("--json", action="store_true", help="write one JSON object")

    gone_on = actions.add_parser("resume", help="let a run go on", epilog=epilog)
    gone_on.add_argument("thread")
    gone_on.add_argument(
        "--team",
        required=True,
        metavar="MODULE:ATTRIBUTE",
        help="an Orchestrator, a compiled graph or a review loop, with its checkpointer",
    )
    gone_on.add_argument(
        "--answer", action="append", metavar="JSON", help="an answer, or id=answer; may be repeated"
    )
    gone_on.add_argument("--json", action="store_true", help="write one JSON object")

    forked = actions.add_parser("fork", help="copy a thread", parents=[store], epilog=epilog)
    forked.add_argument("thread")
    forked.add_argument("--checkpoint", type=count, metavar="ID", help="only what led to this one")
    forked.add_argument("--to", metavar="NAME", help="the new thread's name; one is made up if not")

    _add_prune(
        actions.add_parser("prune", help="remove old things", parents=[store], epilog=epilog)
    )

    deleted = actions.add_parser("delete", help="remove threads", parents=[store], epilog=epilog)
    deleted.add_argument("threads", nargs="+", metavar="thread")


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", metavar="NAME", help="only this thread")
    parser.add_argument(
        "--keep-last", type=count, metavar="N", help="keep so many checkpoints of each thread"
    )
    parser.add_argument(
        "--keep-for", type=seconds, metavar="AGE", help="keep checkpoints no older than, say, 30d"
    )
    parser.add_argument(
        "--keep-bytes", type=size, metavar="SIZE", help="keep so much of each thread, say 64M"
    )
    parser.add_argument(
        "--delete-after",
        type=seconds,
        metavar="AGE",
        help="remove threads whole that were not written to for longer than, say, 90d",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--compact", action="store_true", help="give the room back to the disk")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _store() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--store",
        metavar="URL",
        help="sqlite:FILE or postgres://…; else the variable ANTIPHON_CHECKPOINTER",
    )
    return parser
