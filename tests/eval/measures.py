"""What a set is about, beside its verdicts: where the data has an answer, and where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.results import Row

__all__ = ["NO_DATA", "measures"]

NO_DATA = "no-data"
"""The kind of the questions that the data has no answer to."""


def measures(name: str, rows: Sequence[Row]) -> dict[str, str]:
    """The measures of a set as ``part of whole (share)``, by what they say; of most sets, none."""
    of = {"data-analyst": _data_analyst, "agentic-search": _agentic_search}.get(name)
    return {} if of is None else of(rows)


def _data_analyst(rows: Sequence[Row]) -> dict[str, str]:
    known = [row for row in rows if row.kind != NO_DATA]
    unknown = [row for row in rows if row.kind == NO_DATA]
    delivered = _delivered(rows)
    return {
        "execution accuracy": _share(_right(known), len(known)),
        "wrong, of what was delivered as answered": _share(
            sum(row.verdict == "wrong" for row in delivered), len(delivered)
        ),
        "right refusals": _share(_right(unknown), len(unknown)),
        "refusals of what the data has": _share(
            sum(row.verdict == "abstained" for row in known), len(known)
        ),
    }


def _agentic_search(rows: Sequence[Row]) -> dict[str, str]:
    known = [row for row in rows if row.kind != NO_DATA]
    unknown = [row for row in rows if row.kind == NO_DATA]
    delivered = _delivered(rows)
    return {
        "right answers": _share(_right(known), len(known)),
        "sources that support the answer": _share(
            sum(row.supporting for row in delivered), sum(row.sources for row in delivered)
        ),
        "answers without support": _share(
            sum(not row.supporting for row in delivered), len(delivered)
        ),
        "right refusals": _share(_right(unknown), len(unknown)),
        "refusals of what the documentation has": _share(
            sum(row.verdict == "abstained" for row in known), len(known)
        ),
    }


def _delivered(rows: Sequence[Row]) -> list[Row]:
    """What was delivered as an answer: a refusal in words is none."""
    return [
        row
        for row in rows
        if row.outcome == "answered"
        and row.verdict != "abstained"
        and not (row.kind == NO_DATA and row.verdict == "right")
    ]


def _right(rows: Sequence[Row]) -> int:
    return sum(row.verdict == "right" for row in rows)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")
