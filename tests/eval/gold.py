"""Whether rows are those of a gold query: execution accuracy, and the words beside them."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import isclose
from typing import TYPE_CHECKING, Any

from eval.databases import database, run_query
from eval.scoring import is_abstention, score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eval.asking import Reply
    from eval.loading import Question
    from eval.scoring import Verdict

__all__ = ["judge_rows", "same_rows"]

_EXTRA_COLUMNS = 2
"""Columns that rows may have besides those that were asked for, such as a sum beside a name."""
_ROUNDING = 0.005
"""How far words may round a number of the rows, as a share of it."""


def judge_rows(folder: Path) -> Callable[[Question, Reply], Verdict]:
    """Scores replies by the gold queries of their questions.

    Args:
        folder: where the databases are, or are made.
    """

    @cache
    def gold_rows(name: str, query: str) -> list[tuple[Any, ...]]:
        return run_query(database(name, folder), query)

    def judge(question: Question, reply: Reply) -> Verdict:
        expected = question.expected
        if "sql" not in expected or reply.outcome != "answered":
            return score(expected, reply.outcome, reply.answer)
        gold = gold_rows(str(question.database), expected["sql"])
        tolerance = expected.get("tolerance", 1e-6)
        single = gold[0][0] if len(gold) == len(gold[0]) == 1 else None
        if reply.rows is not None and not same_rows(reply.rows, gold, tolerance):
            return "abstained" if is_abstention(reply.answer) else "wrong"
        if isinstance(single, int | float):
            tolerance = max(tolerance, abs(single) * _ROUNDING)
            return score({"number": single, "tolerance": tolerance}, reply.outcome, reply.answer)
        if reply.rows is None:
            return score({"text": [str(single)]}, reply.outcome, reply.answer)
        return "right"

    return judge


def same_rows(
    found: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]], tolerance: float = 1e-6
) -> bool:
    """Whether the columns of `gold` are among those of `found`, in any order of rows and columns.

    Args:
        found: the rows that were delivered.
        gold: the rows of the gold query; at least one.
        tolerance: by which numbers may differ.
    """
    width = len(gold[0])
    if len(found) != len(gold) or not width <= len(found[0]) <= width + _EXTRA_COLUMNS:
        return False
    return any(
        _same_order([[row[place] for place in places] for row in found], gold, tolerance)
        for places in permutations(range(len(found[0])), width)
    )


def _same_order(
    found: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]], tolerance: float
) -> bool:
    left = list(gold)
    for row in found:
        for place, wanted in enumerate(left):
            if all(_same(*pair, tolerance) for pair in zip(row, wanted, strict=True)):
                del left[place]
                break
        else:
            return False
    return True


def _same(found: Any, gold: Any, tolerance: float) -> bool:
    if isinstance(gold, int | float) and not isinstance(found, bool):
        try:
            return isclose(float(found), gold, rel_tol=1e-9, abs_tol=tolerance)
        except (TypeError, ValueError):
            return False
    if isinstance(gold, str) and isinstance(found, str):
        return found.strip().casefold() == gold.strip().casefold()
    return bool(found == gold)
