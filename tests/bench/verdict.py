"""Whether a result reaches its goals."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.engine import OURS
from bench.measure import Result

EXCELLENT, PASSED, FAILED = "excellent", "pass", "FAIL"


@dataclass(frozen=True)
class Verdict:
    """One goal of a row, and how it went: `excellent`, `pass` or `FAIL`."""

    goal: str
    value: float
    excellent: float
    gate: float
    mark: str


def verdicts(result: Result) -> Iterator[Verdict]:
    """A verdict for each goal of the row that could be measured."""
    row = result.row
    for name, goal, value, most in (
        ("times_floor", row.times_floor, result.times_floor, True),
        ("gain", row.gain, result.gain, False),
        ("absolute", row.absolute, result.figure(OURS), True),
    ):
        if goal is not None and value is not None:
            mark = judge(value, goal.excellent, goal.gate, most=most)
            yield Verdict(name, value, goal.excellent, goal.gate, mark)


def judge(value: float, excellent: float, gate: float, *, most: bool) -> str:
    """Compare a value with both limits; `most` says that they are upper ones."""
    sign = 1 if most else -1
    if sign * value <= sign * excellent:
        return EXCELLENT
    return PASSED if sign * value <= sign * gate else FAILED
