"""Threads: what it costs to keep a run, for each durability, and to load it again.

A step of LangGraph costs the more the later it is. So its long runs are measured once in a process,
with `--quick` not as far, and each for a few minutes at most: what it did not reach is left blank.
`(N)` says that it is set to `synchronous=NORMAL` as antiphon is; `(F)` that it is left at its
default, `FULL`, an fsync for each of its commits.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from bench.engine import Engine
from bench.row import Goal, Row, Sample
from bench.rows.state import blob
from bench.thread import Grown, Keeping, grow, steps_around

FIRST, MIDDLE, LAST = 10, 500, 5_000
WHOLE = 1_000
FLUSHED = 200
ASYNC, SYNC, EXIT = Keeping("async"), Keeping("sync"), Keeping("exit")
POWER, MEMORY, NOT = Keeping("sync", "power"), Keeping("async", None), Keeping(None)

Figure = Callable[[Grown], float]


@cache
def once(engine: Engine, steps: int, keeping: Keeping) -> Grown:
    """A run that is too costly to be repeated."""
    return grow(engine, steps, keeping)


def figure(
    of: Figure, steps: int, ours: Keeping, theirs: Keeping | None = None
) -> Callable[[Engine], Sample | None]:
    """A figure of a run of so many steps, kept in the same way unless `theirs` says otherwise."""

    def case(engine: Engine) -> Sample | None:
        if engine.ours:
            return lambda _: of(grow(engine, steps, ours))
        furthest = steps_around(MIDDLE if engine.quick else LAST)
        if theirs is None and steps > furthest:
            return None
        # One run serves all rows that look at a part of it.
        grown = once(engine, furthest if theirs is None else steps, theirs or ours)
        return (lambda _: of(grown)) if len(grown.ticks) >= steps else None

    return case


def floor(of: Figure, steps: int, keeping: Keeping) -> Callable[[Engine | None], Sample | None]:
    """A figure of antiphon's to compare with."""
    return lambda ours: (lambda _: of(grow(ours, steps, keeping))) if ours else None


def near(step: int) -> Figure:
    """The cost of a step."""
    return lambda grown: grown.near(step)


def per_step(grown: Grown) -> float:
    """The cost of each step of a whole run."""
    return grown.per_step


def whole(
    name: str, description: str, keeping: Keeping, gain: Goal | None = None, *, steps: int = WHOLE
) -> Row:
    """A run from its beginning to its end, each engine with its own default."""
    theirs = Keeping(keeping.durability, keeping.survives and "power")
    return Row(
        name,
        f"superstep of {steps:,} kept, {description}",
        "µs",
        1,
        floor=floor(per_step, steps, NOT),
        engine=figure(per_step, steps, keeping, theirs),
        gain=gain,
        once=True,
    )


def steps(name: str, keeping: Keeping, absolute: Goal) -> tuple[Row, ...]:
    """What the 10th, the 500th and the 5,000th step cost."""
    return tuple(
        Row(
            f"{name}-{step}",
            f"step {step:,} of a growing list, {name} (N)",
            "µs",
            1,
            floor=floor(near(step), steps_around(step), NOT),
            engine=figure(near(step), steps_around(step), keeping),
            absolute=absolute,
            once=True,
        )
        for step in (FIRST, MIDDLE, LAST)
    )


def growth(name: str, keeping: Keeping) -> Row:
    """Whether a step costs more the longer the list is."""
    return Row(
        f"{name}-growth",
        f"step {LAST:,}, {name} (floor: antiphon, step {FIRST})",
        "µs",
        1,
        floor=floor(near(FIRST), steps_around(FIRST), keeping),
        engine=lambda engine: (
            figure(near(LAST), steps_around(LAST), keeping)(engine) if engine.ours else None
        ),
        times_floor=Goal(1.3, 1.3),
        once=True,
    )


def size(name: str, keeping: Keeping, absolute: Goal) -> Row:
    """How much larger a file is than what was written into it."""
    length = steps_around(LAST)
    return Row(
        f"{name}-size",
        f"file ÷ information of {length:,} steps, {name}",
        "fold",
        1,
        floor=lambda _: None,
        engine=figure(lambda grown: grown.weight, length, keeping),
        absolute=absolute,
        scale=1,
        once=True,
    )


def back(name: str, title: str, of: Figure) -> Row:
    """The way back to a long thread."""
    return Row(
        name,
        title,
        "ms",
        1,
        floor=lambda _: None,
        engine=figure(of, steps_around(LAST), ASYNC),
        absolute=Goal(5, 20),
        scale=1e3,
        once=True,
    )


def large(held: Callable[[], dict[str, str]]) -> Callable[[Engine | None], Sample | None]:
    """Steps beside a value that does not change."""

    def case(engine: Engine | None) -> Sample | None:
        if engine is None:
            return None
        length = steps_around(FIRST * 10)
        return lambda _: grow(engine, length, ASYNC, held()).near(FIRST * 10)

    return case


ROWS: Any = (
    whole("kept-async", "async (F)", ASYNC, Goal(500, 200)),
    whole("kept-sync", "sync (F)", SYNC, Goal(100, 50)),
    whole("kept-exit", "exit (F)", EXIT),
    whole("kept-memory", "in memory", MEMORY),
    whole("long-async", "async (F)", ASYNC, Goal(500, 200), steps=LAST),
    whole("long-sync", "sync (F)", SYNC, Goal(100, 50), steps=LAST),
    Row(
        "kept-power",
        "superstep kept, sync, both an fsync per commit",
        "µs",
        1,
        floor=lambda _: None,
        engine=lambda engine: lambda _: grow(engine, FLUSHED, POWER).per_step,
        gain=Goal(1.5, 1),
        once=True,
    ),
    *steps("async", ASYNC, Goal(3, 10)),
    growth("async", ASYNC),
    *steps("sync", SYNC, Goal(60, 120)),
    *steps("exit", EXIT, Goal(3, 10)),
    growth("exit", EXIT),
    Row(
        "kept-blob",
        "step beside 1 MB, async (N; floor: beside 100 B)",
        "µs",
        1,
        floor=large(lambda: {"key": "x" * 100}),
        engine=large(blob),
        times_floor=Goal(1.5, 1.5),
        once=True,
    ),
    size("async", ASYNC, Goal(2, 3)),
    size("exit", EXIT, Goal(2, 3)),
    back("found", f"get_state of {LAST:,} steps, fresh saver", lambda grown: grown.found),
    back("resumed", f"invoke to its first node after {LAST:,}", lambda grown: grown.resumed),
)
