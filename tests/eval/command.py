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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.asking import (
    ask_command,
    ask_database,
    ask_documents,
    ask_table,
    asked,
    judge_words,
)
from eval.documentation import documentation
from eval.gold import judge_rows
from eval.library import DEAD, ISLES, Library
from eval.loading import SETS, load
from eval.measures import measures
from eval.reports import EVERY_STAGE, ask_research
from eval.results import append, line, read, summary, table
from eval.scripted_models import ScriptedResearcher
from eval.tasks import ask_task, judge_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.systems import AgenticSearch, DataAnalyst, DeepResearch, PlanExecute
    from eval.asking import Reply
    from eval.loading import Question
    from eval.results import Row
    from eval.scoring import Verdict

    Ask = Callable[[Question], Reply]
    Judge = Callable[[Question, Reply], Verdict]

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
    ask: Ask,
    path: Path,
    say: Callable[[str], object] = print,
    *,
    judge: Judge = judge_words,
) -> list[Row]:
    """Asks what has no result yet, and returns the rows of all these questions.

    Args:
        name: the set of the questions.
        questions: the questions.
        ask: asks one.
        path: the file of results.
        say: gets a line for each question that was asked.
        judge: gives the verdict on a reply.
    """
    known = {(row.set, row.id): row for row in read(path)}
    for question in questions:
        if (name, question.id) in known:
            continue
        row = asked(name, question, ask, judge)
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
            ask, judge = _asking(name, model, options, stack)
            rows += evaluate(name, questions, ask, path, judge=judge)
    found = {name: measures(name, [one for one in rows if one.set == name]) for name in options.set}
    report = {"model": model, "summary": summary(rows), "measures": found}
    path.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"\n{table(model, rows)}\n{path.with_suffix('.json')}\n")


def _asking(
    name: str, model: str, options: argparse.Namespace, stack: ExitStack
) -> tuple[Ask, Judge]:
    """How the questions of a set are asked, and who judges the replies."""
    if name == "data-analyst":
        folder = options.folder / "data"
        return ask_database(_analysts(model, options.timeout), folder), judge_rows(folder)
    if name == "agentic-search":
        return ask_documents(_search(model, options)), judge_words
    if name == "deep-research":
        return _ask_research(model, options), judge_words
    if name == "plan-execute":
        return ask_task(_executors(model, options)), judge_task
    if name == "tables":
        return _ask_tables(model, stack), judge_words
    return ask_command(model, options.timeout), judge_words


def _analysts(model: str, timeout: float) -> Callable[[Path], DataAnalyst]:
    from antiphon.systems import DataAnalyst

    @cache
    def analyst(path: Path) -> DataAnalyst:
        return DataAnalyst(
            model, database=path, agent_timeout_s=timeout, question_timeout_s=timeout
        )

    return analyst


def _search(model: str, options: argparse.Namespace) -> AgenticSearch:
    from antiphon.systems import AgenticSearch
    from antiphon.tools import document_search

    pages = documentation(options.folder / "data")
    documents = document_search(pages, cache=options.folder / "documents")
    return AgenticSearch(model, tools=[documents], question_timeout_s=options.timeout)


def _ask_research(model: str, options: argparse.Namespace) -> Ask:
    from antiphon.systems import DeepResearch

    kind, _, name = model.partition(":")
    falsified: set[str] = set()
    roles: dict[str, Any] = {"model": model}
    if kind == "scripted":
        scripted = ScriptedResearcher(name)
        roles, falsified = scripted.roles(), scripted.falsified

    @cache
    def research(library: str) -> tuple[DeepResearch, Library]:
        found = _library(library, options)
        tools = found.tools()
        timeout = options.timeout
        system = DeepResearch(tools=tools, research_timeout_s=timeout, **EVERY_STAGE, **roles)
        return system, found

    return ask_research(research, falsified)


def _library(name: str, options: argparse.Namespace) -> Library:
    cache_folder = options.folder / "documents"
    if name == "isles":
        return Library(ISLES, cache_folder, DEAD)
    return Library(documentation(options.folder / "data"), cache_folder)


def _executors(model: str, options: argparse.Namespace) -> Callable[[Path], PlanExecute]:
    from antiphon.systems import PlanExecute
    from antiphon.tools import document_search, files, write_pdf

    documents = document_search(ISLES, cache=options.folder / "documents")

    def executor(folder: Path) -> PlanExecute:
        tools = [documents, files(folder), write_pdf(folder)]
        return PlanExecute(model, tools=tools, question_timeout_s=options.timeout)

    return executor


def _ask_tables(model: str, stack: ExitStack) -> Ask:
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
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a question")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="of the files of results")
    options = parser.parse_args(arguments)
    if options.every < 1:
        parser.error(f"`--every` must be at least 1: {options.every}")
    options.model = options.model or ["local:0.5b", "local:1.5b"]
    options.set = options.set or list(SETS)
    return options


if __name__ == "__main__":
    raise SystemExit(main())
