"""`make eval`: asks a model the questions, and reports how many answers are right.

A file of results, one line for each question, is written as the evaluation goes. Started again
with the same model, it resumes where it was killed; `--anew` begins again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from eval.asking import ask_command, ask_table, asked
from eval.loading import SETS, load
from eval.results import append, line, read, summary, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eval.asking import Reply
    from eval.loading import Question
    from eval.results import Row

_FOLDER = Path(__file__).parents[2] / "target" / "eval"
_SMALLEST = "local:0.5b"
"""The model that writes better code without reasoning first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation, and prints the table of its results."""
    options = _options(arguments)
    for model in options.model:
        _evaluate(model, options)
    return 0


def evaluate(
    name: str,
    questions: Sequence[Question],
    ask: Callable[[Question], Reply],
    path: Path,
    say: Callable[[str], object] = print,
) -> list[Row]:
    """Asks what has no result yet, and returns the rows of all these questions.

    Args:
        name: the set of the questions.
        questions: the questions.
        ask: asks one.
        path: the file of results.
        say: gets a line for each question that was asked.
    """
    known = {(row.set, row.id): row for row in read(path)}
    for question in questions:
        if (name, question.id) in known:
            continue
        row = asked(name, question, ask)
        append(path, row)
        known[name, question.id] = row
        say(line(question, row))
    return [known[name, question.id] for question in questions]


def _evaluate(model: str, options: argparse.Namespace) -> None:
    path = options.folder / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', model)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if options.anew:
        path.unlink(missing_ok=True)
    rows: list[Row] = []
    for name in options.set:
        questions = load(name)
        if options.seen:
            questions = [one for one in questions if not one.held_out]
        questions = questions[:: options.every]
        with ExitStack() as stack:
            ask = _ask_tables(model, stack) if name == "tables" else None
            rows += evaluate(name, questions, ask or ask_command(model, options.timeout), path)
    report = {"model": model, "summary": summary(rows)}
    path.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"\n{table(model, rows)}\n{path.with_suffix('.json')}\n")


def _ask_tables(model: str, stack: ExitStack) -> Callable[[Question], Reply]:
    from antiphon.sandbox import Sandbox
    from antiphon.systems import Computation

    box = stack.enter_context(Sandbox(packages=["numpy", "pandas"]))
    computation = Computation(
        model, sandbox=box, reasoning=model != _SMALLEST, question_timeout_s=300
    )
    return ask_table(computation)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make eval", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--model", action="append", help="a model; default: local:0.5b and local:1.5b"
    )
    parser.add_argument("--set", action="append", choices=SETS, help="default: all sets")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--seen", action="store_true", help="leave out what is held out")
    parser.add_argument("--anew", action="store_true", help="forget earlier results of the model")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a question of ask")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="of the files of results")
    options = parser.parse_args(arguments)
    if options.every < 1:
        parser.error(f"`--every` must be at least 1: {options.every}")
    options.model = options.model or ["local:0.5b", "local:1.5b"]
    options.set = options.set or list(SETS)
    return options


if __name__ == "__main__":
    raise SystemExit(main())
