"""Tasks of `PlanExecute`: the answer is right, and the files are those that the task wants."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from antiphon.errors import ToolError
from antiphon.tools import document_search
from eval.asking import Reply, judge_words
from eval.scoring import states

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.systems import PlanExecute
    from eval.loading import Question
    from eval.scoring import Verdict

__all__ = ["ask_task", "judge_task"]


def ask_task(executor: Callable[[Path], PlanExecute]) -> Callable[[Question], Reply]:
    """Has a task done in a folder of its own.

    Args:
        executor: makes the system whose tools write into a folder.
    """

    def ask(question: Question) -> Reply:
        with TemporaryDirectory() as place:
            folder = Path(place, "files")
            folder.mkdir()
            result = executor(folder).run(question.question)
            texts = {name: _text(folder, name) for name in question.files}
        right = sum(
            all(states(texts[name], fact) for fact in facts)
            for name, facts in question.files.items()
        )
        error = "" if result.error is None else result.error.message
        return Reply(
            result.outcome,
            result.answer or "",
            result.reason or error,
            json.dumps(result.plan_json),
            counts={"files": len(question.files), "right_files": right},
        )

    return ask


def judge_task(question: Question, reply: Reply) -> Verdict:
    """The verdict on the words; an answer is wrong if a file is not as the task wants it."""
    verdict = judge_words(question, reply)
    has_files = reply.counts.get("right_files") == reply.counts.get("files")
    return "wrong" if verdict == "right" and not has_files else verdict


def _text(folder: Path, name: str) -> str:
    """The text of a file, also of a PDF; empty if there is no such file."""
    with TemporaryDirectory() as cache:
        _, read = document_search(folder, cache=cache).tools
        try:
            return " ".join(read.call({"path": name})["text"].split())
        except ToolError:
            return ""
