"""Asking the questions: `antiphon ask` as a user calls it, and `Computation` on a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.results import Row
from eval.scoring import score
from eval.tables import frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.systems import Computation
    from eval.loading import Question

__all__ = ["Reply", "ask_command", "ask_table", "asked"]


class Reply(NamedTuple):
    """What a system said: how the question ended, the answer, and why there is none."""

    outcome: str
    answer: str
    note: str = ""


def asked(name: str, question: Question, ask: Callable[[Question], Reply]) -> Row:
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
        verdict=score(question.expected, reply.outcome, reply.answer),
        outcome=reply.outcome,
        answer=reply.answer,
        seconds=round(monotonic() - began, 1),
        note=reply.note,
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
        return Reply("error", "", f"exit code {done.returncode}: {done.stderr[-300:]}")
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
