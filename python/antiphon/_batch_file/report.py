"""The report of a batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that could not be asked.

    Attributes:
        line: its number, from 1.
        task_id: its id, if it has one.
        code: the kind of problem; docs/errors has a page for each.
        message: what is wrong with it.
    """

    line: int
    task_id: str | None
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """The report of a batch.

    Attributes:
        output: where the answers are.
        answered: questions that were answered.
        paused: questions that wait for a person: their lines of the output hold what is asked.
        failed: other questions without an answer: their lines of the output say why.
        skipped: questions whose answers were in the output before.
        refused: lines that could not be asked, and have no line in the output.
        problems: what is wrong with the first 1,000 of them.
    """

    output: Path
    answered: int
    failed: int
    skipped: int
    refused: int
    problems: tuple[LineProblem, ...]
    paused: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**asdict(self), "output": str(self.output), "problems": self._problems()}

    def _problems(self) -> list[dict[str, Any]]:
        return [asdict(problem) for problem in self.problems]

    def __str__(self) -> str:
        counts = f"{self.answered} answered, {self.failed} failed, {self.skipped} done before"
        paused = f", {self.paused} paused for an answer" if self.paused else ""
        return counts + paused + (f", {self.refused} refused" if self.refused else "")
