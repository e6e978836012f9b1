"""The command line: ``antiphon ask``, ``doctor``, ``models`` and ``runs``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

import antiphon
from antiphon._command.batch_options import add_batch, misused
from antiphon._command.exits import Exit, failed
from antiphon._command.output import abandon, prepare, tell
from antiphon._command.plain import safe
from antiphon._command.runs_options import add_runs
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_EXITS = (
    "exit codes: 0 answered, 1 error, 2 usage, 3 no answer (limit or budget), "
    "4 no model available, 130 interrupted"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: what follows the program's name. Default: those of this process.

    Returns:
        The exit code; see the end of ``antiphon --help``.
    """
    prepare()
    try:
        parser = _parser()
        options = parser.parse_args(arguments)
        if problem := misused(options):
            parser.error(problem)
        code = _run(options)
        sys.stdout.flush()
    except AntiphonError as error:
        tell(safe(f"error: {error}"))
        return failed(error)
    except KeyboardInterrupt:
        tell("interrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        # Whoever reads the output has gone, or there is no room for it.
        if not isinstance(error, BrokenPipeError):
            tell(f"error: the output cannot be written: {error.strerror}")
        abandon()
        return Exit.ERROR
    return code


def _run(options: argparse.Namespace) -> int:
    if options.command == "models":
        from antiphon._command.choices import choices

        return choices()
    if options.command == "doctor":
        from antiphon._command.doctor import doctor

        return doctor(as_json=options.json)
    if options.command == "runs":
        from antiphon._command.runs import runs

        return runs(options)
    if options.batch is not None:
        from antiphon._command.batch import batch

        return batch(options)
    from antiphon._command.ask import ask

    return ask(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="antiphon", description=antiphon.__doc__, epilog=_EXITS)
    parser.add_argument("--version", action=_Version, help="write the version and leave")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    ask = commands.add_parser("ask", help="answer a question, or a file of them", epilog=_EXITS)
    ask.add_argument("question", nargs="?")
    ask.add_argument(
        "--model", help="provider:model, local:1.5b, local:0.5b, or the path of a .gguf file"
    )
    ask.add_argument("--file", help="a text file that comes with the question, at most 64 KiB")
    ask.add_argument("--system", default="review-loop", help="who answers; default: review-loop")
    ask.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="a setting; may be repeated"
    )
    ask.add_argument("--json", action="store_true", help="write one JSON object")
    ask.add_argument("--trace", action="store_true", help="write the events too")
    add_batch(ask.add_argument_group("a file of questions"))
    doctor = commands.add_parser("doctor", help="tell what this machine offers")
    doctor.add_argument("--json", action="store_true", help="write one JSON object")
    commands.add_parser("models", help="list what could answer")
    add_runs(
        commands.add_parser("runs", help="see to threads that are kept", epilog=_EXITS), _EXITS
    )
    return parser


class _Version(argparse.Action):
    """Reads the version only when it is asked for: package metadata is slow."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"antiphon {antiphon.__version__}\n")
        parser.exit()
