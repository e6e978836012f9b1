"""The options of all commands."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

import antiphon
from antiphon._cli.units import count, port, seconds, size

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXITS = (
    "exit codes: 0 answered, 1 error, 2 usage, 3 no answer (not known, paused, limit or budget), "
    "4 no model available, 130 interrupted"
)
_EXITS_OF_RUNS = (
    "exit codes: 0 success, 1 error, 2 usage or unknown thread, "
    "3 the resumed run paused again or reached a limit, 130 interrupted"
)
_EXITS_OF_WORKER = (
    "exit codes: 0 stopped by SIGTERM, 1 error, 2 usage, 130 stopped by Ctrl-C. The first signal "
    "finishes what is under way, the second one gives it back to other workers."
)
_EXITS_OF_SERVER = (
    "exit codes: 0 stopped by SIGTERM, 1 error, 2 usage, 4 no model available, 130 stopped by "
    "Ctrl-C. The first signal waits for runs under way, the second one cancels them."
)
_STORES = "sqlite:FILE or postgres://…; default: the variable ANTIPHON_CHECKPOINTER"
_STATUSES = "running paused ended failed orphaned empty unreadable foreign"
_OF_BATCH = ("out", "files", "concurrency", "redo_failed")
_OF_ONE = ("question", "file", "thread", "trace", "report")


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="antiphon", description=antiphon.__doc__)
    parser.add_argument("--version", action=_Version, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    ask = commands.add_parser("ask", help="ask a ready system", epilog=_EXITS)
    _add_ask(ask)
    _add_json(commands.add_parser("doctor", help="check sandboxes, models, store"))
    drawn = commands.add_parser("graph", help="draw a system, an agent, a team or a graph")
    drawn.add_argument(
        "target", metavar="NAME", help="a ready system, or MODULE:ATTRIBUTE of an object of yours"
    )
    drawn.add_argument("--svg", action="store_true", help="an SVG image; default: Mermaid text")
    commands.add_parser("models", help="list models and the default")
    _add_mcp(commands.add_parser("mcp", help="serve agents and tools to MCP clients"))
    stored = commands.add_parser("runs", help="manage stored threads", epilog=_EXITS_OF_RUNS)
    _add_runs(stored)
    served = commands.add_parser(
        "serve", help="serve an agent, a team or a system over HTTP", epilog=_EXITS_OF_SERVER
    )
    _add_serve(served)
    listed = commands.add_parser("systems", help="list ready systems, or describe one")
    listed.add_argument("name", nargs="?", help="a ready system; default: list all of them")
    _add_json(listed)
    worker = commands.add_parser(
        "worker", help="carry out steps of ready systems", epilog=_EXITS_OF_WORKER
    )
    _add_worker(worker)
    _fail_alone(parser)
    return parser


def _fail_alone(parser: argparse.ArgumentParser) -> None:
    """Has each command print its own usage where its options are wrong."""
    parser.set_defaults(fail=parser.error)
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                _fail_alone(command)


def find_misuse(options: argparse.Namespace, unknown: Sequence[str]) -> str | None:
    """Why the options cannot be combined, or which is unknown; ``None`` if all is well."""
    if unknown:
        return f"unrecognized arguments: {' '.join(unknown)}"
    if options.command != "ask":
        return None
    is_batch = options.batch is not None
    if not is_batch and options.question is None:
        return "a question is required, or a file of questions: --batch FILE --out FILE"
    if is_batch and options.out is None:
        return "--batch requires --out FILE"
    for name in _OF_ONE if is_batch else _OF_BATCH:
        if getattr(options, name) not in (None, False):
            option = name if name == "question" else f"--{name.replace('_', '-')}"
            return f"{option} {'cannot be used with' if is_batch else 'requires'} --batch"
    return None


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_ask(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("question", nargs="?", help="the question; - reads it from the input")
    _add_model(ask)
    ask.add_argument("--file", help="a text file to attach: UTF-8, at most 64 KiB")
    ask.add_argument("--system", default="review-loop", help="a ready system; default: review-loop")
    default = f"{_STORES}, else for a batch a temporary file beside the answers"
    ask.add_argument("--store", metavar="URL", help=f"the store of the threads: {default}")
    ask.add_argument("--thread", metavar="NAME", help="keep the question in this thread")
    _add_queue(ask, "have workers carry out the steps that wait in this queue: nats://host:4222")
    _add_json(ask)
    _add_report(ask)
    ask.add_argument("--trace", action="store_true", help="print each model and tool call too")
    batch = ask.add_argument_group("a file of questions")
    batch.add_argument(
        "--batch", metavar="FILE", help="JSON lines with `task_id`, `question`, `file_name`"
    )
    batch.add_argument("--out", metavar="FILE", help="the file that answers are appended to")
    batch.add_argument("--files", metavar="FOLDER", help="attached files; default: that of FILE")
    batch.add_argument(
        "--concurrency", type=int, metavar="N", help="concurrent questions; default: 8"
    )
    batch.add_argument("--redo-failed", action="store_true", help="ask unanswered questions again")


def _add_queue(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("--queue", metavar="URL", help=about)
    parser.add_argument(
        "--queue-name", metavar="NAME", help="of the NATS server; default: antiphon"
    )


def _add_worker(worker: argparse.ArgumentParser) -> None:
    _add_queue(worker, "nats://host:4222 or tls://…; default: the variable NATS_URL")
    worker.add_argument(
        "--roles", metavar="NAME,…", help="such as ResearchAgent,UtilityAgent; default: all"
    )
    worker.add_argument(
        "--tools", action="append", metavar="MODULE:NAME", help="a tool, or a list of tools"
    )
    worker.add_argument(
        "--profile",
        action="append",
        metavar="NAME=MODULE:NAME",
        help="tools with the credentials of a key profile, in place of those of the same name",
    )
    worker.add_argument("--docs", metavar="FOLDER", help="documents to search and read")
    worker.add_argument(
        "--set", action="append", metavar="workers=JSON", help="roles of your own, as of the system"
    )
    worker.add_argument(
        "--concurrency", type=count, default=4, metavar="N", help="steps of a role at a time; 4"
    )
    worker.add_argument(
        "--drain", type=seconds, default=30, metavar="TIME", help="for what is under way: 30s"
    )


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        nargs="+",
        metavar="MODULE:ATTRIBUTE",
        help="an agent, orchestrator, ready system, tool, toolset or function",
    )
    parser.add_argument(
        "--http", type=count, metavar="PORT", help="serve over HTTP; default: over standard input"
    )
    _add_host(parser)
    parser.add_argument("--name", default="antiphon", help="what the server is called")


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument(
        "--allow-host", action="append", metavar="NAME", help="a further name of the server"
    )


def _add_serve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "target",
        metavar="NAME",
        help="MODULE:ATTRIBUTE of an agent, an orchestrator or a system of yours; or the name of "
        "a ready system",
    )
    add("--port", type=port, default=8000, help="default: 8000; 0 for any that is free")
    _add_host(parser)
    add(
        "--token-env",
        metavar="VARIABLE",
        help="the variable with the token that clients must send; needed for other hosts",
    )
    add("--max-runs", type=count, default=32, metavar="N", help="runs at a time; default: 32")
    add("--max-body", type=size, default="8M", metavar="SIZE", help="largest body; default: 8M")
    add("--timeout", type=seconds, default="10m", metavar="TIME", help="longest run; default: 10m")
    add(
        "--grace",
        type=seconds,
        default="30s",
        metavar="TIME",
        help="for runs, once told to stop; default: 30s",
    )
    add("--store", metavar="URL", help=f"of a ready system: {_STORES}")
    _add_queue(parser, "of a ready system: have workers carry out the steps that wait there")
    _add_model(parser)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", help="provider:model, local:1.5b, local:0.5b, or the path of a .gguf file"
    )
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="such as retry_limit=3")
    parser.add_argument(
        "--docs", metavar="FOLDER", help="documents that the system may search and read"
    )
    parser.add_argument(
        "--workspace",
        metavar="FOLDER",
        help="where a system that works with files may read and write them, PDF included",
    )
    parser.add_argument(
        "--db",
        metavar="PATH",
        help="what a data analyst reads: a SQLite, CSV, TSV or Parquet file, or postgresql://…",
    )
    parser.add_argument(
        "--no-tools", action="store_true", help="do not let the expert compute in a sandbox"
    )


def _add_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    store = argparse.ArgumentParser(add_help=False)
    store.add_argument("--store", metavar="URL", help=_STORES)

    found = actions.add_parser("list", help="list threads", parents=[store], epilog=_EXITS_OF_RUNS)
    found.add_argument("--status", choices=_STATUSES.split(), help="only with this status")
    found.add_argument("--graph", metavar="NAME", help="only runs of this graph or team")
    found.add_argument("--after", metavar="THREAD", help="only names that sort after this")
    found.add_argument("--limit", type=count, default=100, help="at most; default: 100")
    _add_json(found)

    shown = actions.add_parser(
        "show", help="show one thread", parents=[store], epilog=_EXITS_OF_RUNS
    )
    shown.add_argument("thread")
    shown.add_argument("--limit", type=count, default=20, help="checkpoints and runs; default: 20")
    _add_json(shown)

    resumed = actions.add_parser("resume", help="resume a run", epilog=_EXITS_OF_RUNS)
    resumed.add_argument("thread")
    resumed.add_argument(
        "--team",
        required=True,
        metavar="NAME",
        help="MODULE:ATTRIBUTE of an orchestrator, a compiled graph or a system, with its "
        "checkpointer; or the name of a ready system",
    )
    resumed.add_argument("--store", metavar="URL", help=f"of a ready system: {_STORES}")
    _add_queue(resumed, "of a ready system: have workers carry out the steps that wait there")
    _add_model(resumed)
    resumed.add_argument(
        "--answer", action="append", metavar="JSON", help="an answer, or ID=ANSWER; repeatable"
    )
    _add_report(resumed)
    _add_json(resumed)

    forked = actions.add_parser(
        "fork", help="copy a thread", parents=[store], epilog=_EXITS_OF_RUNS
    )
    forked.add_argument("thread")
    forked.add_argument(
        "--checkpoint", type=count, metavar="ID", help="copy up to this; default: the last"
    )
    forked.add_argument("--to", metavar="NAME", help="the new thread's name; default: random")

    _add_prune(
        actions.add_parser(
            "prune", help="remove checkpoints", parents=[store], epilog=_EXITS_OF_RUNS
        )
    )

    deleted = actions.add_parser(
        "delete", help="delete threads", parents=[store], epilog=_EXITS_OF_RUNS
    )
    deleted.add_argument("threads", nargs="+", metavar="thread")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="also write the report of a system that makes one: FILE.html, FILE.md or FILE.pdf",
    )


def _add_prune(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--thread", metavar="NAME", help="only this thread")
    add("--keep-last", type=count, metavar="N", help="keep the last N checkpoints per thread")
    add("--keep-for", type=seconds, metavar="AGE", help="keep checkpoints up to this age: 30d")
    add("--keep-bytes", type=size, metavar="SIZE", help="keep up to this size per thread: 64M")
    add(
        "--delete-after",
        type=seconds,
        metavar="AGE",
        help="delete threads that were not written to for this time, such as 90d",
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
