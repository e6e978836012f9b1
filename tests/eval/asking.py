"""Asking the questions: `antiphon ask` as a user calls it, and systems on tables and databases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.databases import database
from eval.documentation import supports
from eval.results import Row
from eval.scoring import score
from eval.tables import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon.systems import AgenticSearch, Computation, DataAnalyst
    from antiphon.systems.agentic_search_result import ExecutionPlan
    from eval.loading import Question
    from eval.scoring import Verdict

__all__ = [
    "Reply",
    "ask_command",
    "ask_database",
    "ask_documents",
    "ask_table",
    "asked",
    "judge_words",
]


class Reply(NamedTuple):
    """What a system said.

    Attributes:
        outcome: how the question ended.
        answer: the answer.
        note: why there is none.
        query: the query that the answer relies on, or the calls of a plan.
        rows: the rows of the query.
        sources: what the answer relies on: where each stands, and its beginning.
        counts: the figures that its set is measured by.
    """

    outcome: str
    answer: str
    note: str = ""
    query: str = ""
    rows: list[tuple[Any, ...]] | None = None
    sources: tuple[tuple[str | None, str], ...] = ()
    counts: Mapping[str, int] = MappingProxyType({})


def judge_words(question: Question, reply: Reply) -> Verdict:
    """The verdict on the words of a reply."""
    return score(question.expected, reply.outcome, reply.answer)


def asked(
    name: str,
    question: Question,
    ask: Callable[[Question], Reply],
    judge: Callable[[Question, Reply], Verdict] = judge_words,
) -> Row:
    """The row of a question of the set `name`; an exception is an error of this question."""
    began = monotonic()
    try:
        reply = ask(question)
    except Exception as error:  # noqa: BLE001 - one question must not end an evaluation
        reply = Reply("error", "", f"{type(error).__name__}: {error}")
    return Row(
        set=name,
        id=question.id,
        kind=question.kind,
        held_out=question.held_out,
        verdict=judge(question, reply),
        outcome=reply.outcome,
        answer=reply.answer,
        seconds=round(monotonic() - began, 1),
        note=reply.note,
        query=reply.query,
        sources=len(reply.sources),
        supporting=sum(supports(question, *source) for source in reply.sources),
        counts=dict(reply.counts),
    )


def ask_command(model: str, timeout: float) -> Callable[[Question], Reply]:
    """Asks with `antiphon ask`, in a separate process."""

    def ask(question: Question) -> Reply:
        with TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "antiphon", "ask", question.question, "--json"]
            command += ["--model", model]
            if question.file is not None:
                path = Path(folder, question.file[0])
                path.write_text(question.file[1], "utf-8")
                command += ["--file", str(path)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=timeout, check=False
                )
            except subprocess.TimeoutExpired:
                return Reply("budget", "", f"no answer within {timeout:.0f} s")
        return _read(done)

    return ask


def _read(done: subprocess.CompletedProcess[str]) -> Reply:
    try:
        printed: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return Reply("error", "", f"exit code {done.returncode}: {done.stderr[-600:]}")
    note = printed.get("reason") or (printed.get("error") or {}).get("message") or ""
    return Reply(printed["outcome"], printed.get("answer") or "", note)


def ask_table(computation: Computation) -> Callable[[Question], Reply]:
    """Asks a computation about the question's table."""

    def ask(question: Question) -> Reply:
        if question.table is None:
            raise ValueError(f"the question has no table: {question.id}")
        result = computation.run(question.question, {question.table: frame(question.table)})
        error = "" if result.error is None else result.error.message
        return Reply(result.outcome, result.answer or "", result.reason or error)

    return ask


def ask_database(
    analyst: Callable[[Path], DataAnalyst], folder: Path
) -> Callable[[Question], Reply]:
    """Asks a data analyst about the question's database.

    Args:
        analyst: makes the one for a database.
        folder: where the databases are, or are made.
    """

    def ask(question: Question) -> Reply:
        if question.database is None:
            raise ValueError(f"the question has no database: {question.id}")
        result = analyst(database(question.database, folder)).run(question.question)
        error = "" if result.error is None else result.error.message
        rows = None
        if result.data is not None:
            columns = result.data.columns
            rows = [tuple(row[name] for name in columns) for row in result.data.rows]
        note = result.reason or error
        return Reply(result.outcome, result.answer or "", note, result.sql or "", rows)

    return ask


def ask_documents(search: AgenticSearch) -> Callable[[Question], Reply]:
    """Asks an agentic search, whose tools find the documents."""

    def ask(question: Question) -> Reply:
        result = search.run(question.question)
        plan = "" if result.execution_plan is None else _planned(result.execution_plan)
        return Reply(
            result.outcome,
            result.answer or "",
            result.error_message or result.reason or "",
            plan,
            sources=tuple((source.location, source.excerpt) for source in result.sources),
        )

    return ask


def _planned(plan: ExecutionPlan) -> str:
    """The calls of a plan, to see why an answer is wrong."""
    return json.dumps([[task.tool_name, task.tool_arguments] for task in plan.tasks])
