"""The questions, as they stand in `questions/`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.databases import DATABASES
from eval.library import LIBRARIES
from eval.tables import TABLES

__all__ = ["SETS", "Question", "load"]

SETS = ("ask", "tables", "data-analyst", "agentic-search", "deep-research", "plan-execute")
"""The sets of questions: for `antiphon ask`, and for five of the systems."""
_FOLDER = Path(__file__).with_name("questions")
_ANSWERS = {"number", "date", "text", "abstain", "sql", "facts"}
_EXPECTED = _ANSWERS | {"tolerance", "refuse", "or_abstain"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer.

    Attributes:
        id: its name in reports and in the file of results.
        kind: what it is about, such as ``arithmetic``.
        question: the text.
        expected: what `eval.scoring.score` takes.
        file: an attached file, as its name and its text.
        table: the name of its table.
        database: the name of its database; the answer is what the query ``sql`` finds there.
        pages: the pages of the documentation that support the answer; in a deep research each is
            needed, and ``|`` separates pages of which one is enough.
        library: the name of the documents that are researched.
        traps: wrong numbers that stand near the right ones, with words of what they belong to.
        injected: what instructions in the documents want to be written.
        files: the files that are to be written, with the facts that they state.
        held_out: whether it is kept unseen: reports count it and do not show it.
    """

    id: str
    kind: str
    question: str
    expected: dict[str, Any] = field(hash=False)
    file: tuple[str, str] | None = None
    table: str | None = None
    database: str | None = None
    pages: tuple[str, ...] = ()
    library: str | None = None
    traps: dict[float, list[str]] = field(default_factory=dict, hash=False)
    injected: tuple[str, ...] = ()
    files: dict[str, list[list[float | str]]] = field(default_factory=dict, hash=False)
    held_out: bool = False


def load(name: str, folder: Path = _FOLDER) -> list[Question]:
    """The questions of a set, in their order.

    Raises:
        ValueError: a line is not a question.
    """
    lines = (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
    found = [_question(json.loads(line), name) for line in lines if line.strip()]
    if len({one.id for one in found}) != len(found):
        raise ValueError(f"two questions of the set `{name}` have the same id")
    return found


def _question(row: dict[str, Any], name: str) -> Question:
    expected = row["expected"]
    unknown = expected.keys() - _EXPECTED
    answers = expected.keys() & _ANSWERS
    if unknown or len(answers) != 1:
        raise ValueError(f"the question {row['id']} of `{name}` has no usable answer: {expected}")
    if row.get("table") is not None and row["table"] not in TABLES:
        raise ValueError(f"the question {row['id']} is about an unknown table: {row['table']}")
    if row.get("database") is not None and row["database"] not in DATABASES:
        raise ValueError(f"the question {row['id']} is about an unknown database")
    if row.get("library") is not None and row["library"] not in LIBRARIES:
        raise ValueError(f"the question {row['id']} is about an unknown library: {row['library']}")
    file = row.pop("file", None)
    row["traps"] = {float(number): owners for number, owners in row.get("traps", {}).items()}
    row |= {part: tuple(row.get(part, ())) for part in ("pages", "injected")}
    return Question(**row, file=None if file is None else (file["name"], file["text"]))
