"""The command line: each command of ``antiphon`` is in a module of ``antiphon._cli``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from antiphon._cli.exit_codes import Exit, exit_code_of
from antiphon._cli.options import command_line, find_misuse
from antiphon._cli.terminal import abandon, prepare, tell
from antiphon._text import drop_controls
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: what follows the program's name. Default: those of this process.

    Returns:
        The exit code; see the end of ``antiphon --help``.
    """
    prepare()
    try:
        options, unknown = command_line().parse_known_args(arguments)
        if problem := find_misuse(options, unknown):
            options.fail(problem)
        code = _run(options)
        sys.stdout.flush()
    except AntiphonError as error:
        tell(drop_controls(f"error: {error}\ncode: {error.code}, see docs/errors"))
        return exit_code_of(error)
    except KeyboardInterrupt:
        tell("interrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        # The reader of the output has gone, or the disk is full.
        if not isinstance(error, BrokenPipeError):
            tell(f"error: the output cannot be written: {error.strerror}")
        abandon()
        return Exit.ERROR
    return code


def _run(options: argparse.Namespace) -> int:
    if options.command == "models":
        from antiphon._cli.doctor import models

        return models()
    if options.command == "doctor":
        from antiphon._cli.doctor import doctor

        return doctor(as_json=options.json)
    run: Callable[[argparse.Namespace], int] = _ask
    if options.command in {"mcp", "serve", "worker"}:
        run = _work
    if options.command == "graph":
        from antiphon._cli.graph import graph

        run = graph
    if options.command == "systems":
        from antiphon._cli.systems import systems

        run = systems
    if options.command == "runs":
        from antiphon._cli.runs import runs

        run = runs
    return run(options)


def _work(options: argparse.Namespace) -> int:
    """Works until it is told to stop."""
    if options.command == "mcp":
        from antiphon._cli.mcp import serve as serve_mcp

        return serve_mcp(options)
    if options.command == "serve":
        from antiphon._cli.serve import serve

        return serve(options)
    from antiphon._cli.worker import work

    return work(options)


def _ask(options: argparse.Namespace) -> int:
    if options.batch is not None:
        from antiphon._cli.batch import batch

        return batch(options)
    from antiphon._cli.ask import ask

    return ask(options)
