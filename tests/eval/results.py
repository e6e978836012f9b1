"""The results of an evaluation: one line for each question in a file, and the table of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from eval.measures import measures
from eval.scoring import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eval.loading import Question

__all__ = ["Row", "append", "line", "read", "summary", "table"]

_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a question; `counts` has the figures that its set is measured by."""

    set: str
    id: str
    kind: str
    held_out: bool
    verdict: Verdict
    outcome: str
    answer: str
    seconds: float
    note: str = ""
    query: str = ""
    sources: int = 0
    supporting: int = 0
    counts: dict[str, int] = field(default_factory=dict)


def read(path: Path) -> list[Row]:
    """The rows of a file; a last line that was cut by a killed evaluation is left out."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [Row(**json.loads(text)) for text in lines if text.endswith("\n")]


def append(path: Path, row: Row) -> None:
    """Adds a row, after removing what a killed evaluation left of one."""
    whole = path.read_bytes() if path.exists() else b""
    with path.open("r+b" if path.exists() else "w+b") as out:
        out.truncate(whole.rfind(b"\n") + 1)
        out.seek(0, 2)
        out.write((json.dumps(asdict(row), ensure_ascii=False) + "\n").encode())


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    """The shares of the verdicts, and the mean time, for each set and kind."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        part = "held out" if row.held_out else "seen"
        for name in (row.set, f"{row.set} {part}", f"{row.set}: {row.kind}"):
            groups.setdefault(name, []).append(row)
    return {name: _shares(found) for name, found in sorted(groups.items())}


def _shares(rows: list[Row]) -> dict[str, Any]:
    counts = Counter(row.verdict for row in rows)
    shares: dict[str, float] = {
        verdict: round(counts[verdict] / len(rows), 3) for verdict in _VERDICTS
    }
    seconds = round(sum(row.seconds for row in rows) / len(rows), 1)
    return {"questions": len(rows), **shares, "seconds": seconds}


def table(model: str, rows: list[Row]) -> str:
    """The summary as lines for a terminal."""
    counts = f"{'':26}{'questions':>10}{'right':>8}{'wrong':>8}"
    lines = [f"model: {model}", f"{counts}{'abstained':>11}{'error':>8}{'s each':>8}"]
    for name, one in summary(rows).items():
        counts = f"{one['questions']:>10}{one['right']:>8.0%}{one['wrong']:>8.0%}"
        rest = f"{one['abstained']:>11.0%}{one['error']:>8.0%}{one['seconds']:>8.1f}"
        lines.append(f"{name:26}{counts}{rest}")
    for name in sorted({row.set for row in rows}):
        found = measures(name, [row for row in rows if row.set == name])
        lines += [f"{name}: {what}: {share}" for what, share in found.items()]
    return "\n".join(lines)


def line(question: Question, row: Row) -> str:
    """A question as progress; one that is held out shows neither its text nor its answer."""
    if question.held_out:
        return f"{row.id} {row.verdict:9} (held out, {row.seconds:.0f} s)"
    answer = " ".join(row.answer.split())[:80]
    return f"{row.id} {row.verdict:9} {question.question[:60]} -> {answer} ({row.seconds:.0f} s)"
