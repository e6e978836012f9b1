"""Sampling: interleaved rounds in one process, a collection before each, medians."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from bench.engine import OURS, THEIRS, Engine
from bench.row import Row, Sample

FLOOR = "floor"
# Shorter samples tell of the caches that the collection before them leaves.
LONG_ENOUGH = 0.05  # seconds of a sample; shorter work is repeated
MOST_REPEATS = 500


@dataclass
class Result:
    """What was measured for a row: figures in the row's unit, by column."""

    row: Row
    samples: dict[str, list[float]] = field(default_factory=dict)

    def figure(self, column: str) -> float | None:
        """The median of a column, if it was measured."""
        values = self.samples.get(column)
        return median(values) if values else None

    @property
    def times_floor(self) -> float | None:
        """Ours divided by the floor."""
        return ratio(self.figure(OURS), self.figure(FLOOR))

    @property
    def gain(self) -> float | None:
        """LangGraph's divided by ours."""
        return ratio(self.figure(THEIRS), self.figure(OURS))


def ratio(above: float | None, below: float | None) -> float | None:
    """`above / below`, where both were measured."""
    return above / below if above is not None and below else None


def measure(row: Row, engines: dict[str, Engine], rounds: int) -> Result:
    """Warm every case up once, then take `rounds` samples of each in turn."""
    cases = dict(make(row, engines))
    repeats = {name: 1 if row.once else calibrate(sample) for name, sample in cases.items()}
    result = Result(row, {name: [] for name in cases})
    for _ in range(rounds):
        for name, sample in cases.items():
            gc.collect()
            seconds = sample(repeats[name]) / repeats[name]
            result.samples[name].append(seconds * row.scale / row.per)
    return result


def make(row: Row, engines: dict[str, Engine]) -> Iterator[tuple[str, Sample]]:
    """Prepare the cases of a row, each with its column's name."""
    if (floor := row.floor(engines.get(OURS))) is not None:
        yield FLOOR, floor
    for name, engine in engines.items():
        if (sample := row.engine(engine)) is not None:
            yield name, sample
    for name, other in row.beside.items():
        if (sample := other()) is not None:
            yield name, sample


def calibrate(sample: Sample) -> int:
    """How often to repeat a call so that a sample is long enough; warms it up on the way."""
    seconds = min(sample(1), sample(1))
    return max(1, min(MOST_REPEATS, round(LONG_ENOUGH / max(seconds, 1e-9))))
