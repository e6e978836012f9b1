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
    return _data_analyst(rows) if name == "data-analyst" else {}


def _data_analyst(rows: Sequence[Row]) -> dict[str, str]:
    known = [row for row in rows if row.kind != NO_DATA]
    unknown = [row for row in rows if row.kind == NO_DATA]
    delivered = [row for row in rows if row.outcome == "answered" and row.verdict != "abstained"]
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


def _right(rows: Sequence[Row]) -> int:
    return sum(row.verdict == "right" for row in rows)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")
