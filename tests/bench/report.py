"""The table that a person reads, and the JSON that a job keeps."""

import json
import os
import platform
from typing import Any

from bench.engine import OURS, THEIRS
from bench.measure import FLOOR, Result
from bench.row import Goal
from bench.verdict import EXCELLENT, FAILED, PASSED, Verdict, verdicts

MARKS = {EXCELLENT: "★", PASSED: "✓", FAILED: "✗"}
HEAD = ("row", "what", "unit", "floor", "LangGraph", "antiphon", "times floor", "LG ÷ ours", "own")
WIDTHS = (13, 48, 4, 9, 9, 9, 21, 21, 14)


def header() -> str:
    """The conditions, then the names of the columns."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return "\n".join(
        (
            f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}; medians.",
            "A ratio: value, mark, (excellent / gate). ★ excellent  ✓ gate held  ✗ gate failed",
            line(HEAD),
            "-" * sum(width + 2 for width in WIDTHS),
        )
    )


def line(cells: tuple[str, ...]) -> str:
    """Cells in columns; text to the left, figures to the right."""
    padded = (
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()


def table_line(result: Result) -> str:
    """One result as a line of the table, and a line for each package beside it."""
    row = result.row
    judged = {verdict.goal: verdict for verdict in verdicts(result)}
    others = [
        line(("", f"  {name}: {number(figure)}", row.unit, *[""] * 6))
        for name in row.beside
        if (figure := result.figure(name)) is not None
    ]
    own = line(
        (
            row.name,
            row.title,
            row.unit,
            *(number(result.figure(column)) for column in (FLOOR, THEIRS, OURS)),
            cell(result.times_floor, row.times_floor, judged.get("times_floor")),
            cell(result.gain, row.gain, judged.get("gain")),
            cell(
                result.figure(OURS) if row.absolute else None, row.absolute, judged.get("absolute")
            ),
        )
    )
    return "\n".join((own, *others))


def number(value: float | None) -> str:
    """Three digits that matter; blank for what was not measured."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cell(value: float | None, goal: Goal | None, verdict: Verdict | None) -> str:
    """A ratio with its mark and its limits."""
    limits = f" ({goal.excellent:g} / {goal.gate:g})" if goal else ""
    mark = f" {MARKS[verdict.mark]}" if verdict else ""
    return f"{number(value)}{mark}{limits}".strip()


def document(results: list[Result]) -> str:
    """All results as JSON: figures in the row's unit, samples included."""
    return json.dumps(
        {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg(),
            "rows": [entry(result) for result in results],
        },
        indent=2,
    )


def entry(result: Result) -> dict[str, Any]:
    """One result as JSON."""
    return {
        "name": result.row.name,
        "title": result.row.title,
        "unit": result.row.unit,
        "median": {column: result.figure(column) for column in result.samples},
        "samples": result.samples,
        "verdicts": [vars(verdict) for verdict in verdicts(result)],
    }
