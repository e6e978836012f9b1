"""The options of all commands."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

import antiphon
from antiphon._cli.units import count, seconds, size

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXITS = (
    "exit codes: 0 answered, 1 error, 2 usage, 3 no answer (limit or budget), "
    "4 no model available, 130 interrupted"
)
_STORES = "sqlite:FILE or postgres://…; default: the variable ANTIPHON_CHECKPOINTER"
_STATUSES = "running paused ended failed orphaned empty unreadable foreign"
_OF_BATCH = ("out", "files", "concurrency", "redo_failed", "store")
_OF_ONE = ("question", "file", "trace")


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="antiphon", description=antiphon.__doc__, epilog=_EXITS)
    parser.add_argument("--version", action=_Version, help="write the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_ask(commands.add_parser("ask", help="answer a question, or a file of them", epilog=_EXITS))
    _add_json(commands.add_parser("doctor", help="report what this machine offers"))
    commands.add_parser("models", help="list the models that can be used")
    _add_runs(commands.add_parser("runs", help="manage stored threads", epilog=_EXITS))
    return parser


def misused(options: argparse.Namespace) -> str | None:
    """Why the options cannot be combined, if they cannot."""
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


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _add_ask(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("question", nargs="?")
    ask.add_argument(
        "--model", help="provider:model, local:1.5b, local:0.5b, or the path of a .gguf file"
    )
    ask.add_argument("--file", help="a text file to attach, at most 64 KiB")
    ask.add_argument("--system", default="review-loop", help="default: review-loop")
    ask.add_argument("--set", action="append", metavar="KEY=VALUE", help="a setting; repeatable")
    _add_json(ask)
    ask.add_argument("--trace", action="store_true", help="write the events too")
    batch = ask.add_argument_group("a file of questions")
    batch.add_argument(
        "--batch", metavar="FILE", help="JSON lines with `task_id`, `question`, `file_name`"
    )
    batch.add_argument("--out", metavar="FILE", help="append the answers here, line by line")
    batch.add_argument("--files", metavar="FOLDER", help="attached files; default: beside FILE")
    batch.add_argument("--concurrency", type=int, metavar="N", help="questions at a time")
    batch.add_argument(
        "--redo-failed", action="store_true", help="ask again what was not answered before"
    )
    kept = f"{_STORES}, else a file beside the answers until all have ended"
    batch.add_argument("--store", metavar="URL", help=f"the store of open questions: {kept}")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    store = argparse.ArgumentParser(add_help=False)
    store.add_argument("--store", metavar="URL", help=_STORES)

    found = actions.add_parser("list", help="list threads", parents=[store], epilog=_EXITS)
    found.add_argument("--status", choices=_STATUSES.split(), help="only those")
    found.add_argument("--graph", metavar="NAME", help="only runs of this graph or team")
    found.add_argument("--after", metavar="THREAD", help="only those after this name")
    found.add_argument("--limit", type=count, default=100, help="at most so many (100)")
    _add_json(found)

    shown = actions.add_parser("show", help="show one thread", parents=[store], epilog=_EXITS)
    shown.add_argument("thread")
    shown.add_argument("--limit", type=count, default=20, help="at most so many checkpoints (20)")
    _add_json(shown)

    resumed = actions.add_parser("resume", help="resume a run", epilog=_EXITS)
    resumed.add_argument("thread")
    resumed.add_argument(
        "--team",
        required=True,
        metavar="MODULE:ATTRIBUTE",
        help="an Orchestrator, a compiled graph or a system, with its checkpointer",
    )
    resumed.add_argument(
        "--answer", action="append", metavar="JSON", help="an answer, or id=answer; repeatable"
    )
    _add_json(resumed)

    forked = actions.add_parser("fork", help="copy a thread", parents=[store], epilog=_EXITS)
    forked.add_argument("thread")
    forked.add_argument("--checkpoint", type=count, metavar="ID", help="copy up to this one")
    forked.add_argument("--to", metavar="NAME", help="the new thread's name; default: random")

    _add_prune(actions.add_parser("prune", help="remove old data", parents=[store], epilog=_EXITS))

    deleted = actions.add_parser("delete", help="remove threads", parents=[store], epilog=_EXITS)
    deleted.add_argument("threads", nargs="+", metavar="thread")


def _add_prune(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--thread", metavar="NAME", help="only this thread")
    add("--keep-last", type=count, metavar="N", help="keep so many checkpoints of each thread")
    add("--keep-for", type=seconds, metavar="AGE", help="keep checkpoints up to this age, say 30d")
    add("--keep-bytes", type=size, metavar="SIZE", help="keep so much of each thread, say 64M")
    add(
        "--delete-after",
        type=seconds,
        metavar="AGE",
        help="remove threads idle for, say, 90d",
    )
    add("--dry-run", action="store_true", help="only report what would be removed")
    add("--compact", action="store_true", help="return free space to the disk")
    _add_json(parser)


class _Version(argparse.Action):
    """Reads the version only on demand: package metadata is slow."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"antiphon {antiphon.__version__}\n")
        parser.exit()
