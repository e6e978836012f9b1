"""Measure antiphon against bare Python and LangGraph: `python -m tests.bench --help`.

All cases of a row run in one process, in turn, round after round, with a garbage collection before
each sample; figures are medians. Trust the ratios, not the absolute figures: they move with the
machine's load. An engine that is not installed leaves its column blank.
"""

import argparse
import sys

from bench.engine import OURS, THEIRS, engines
from bench.measure import Result, measure
from bench.report import document, header, table_line
from bench.row import Row
from bench.rows import ROWS
from bench.verdict import FAILED, verdicts

ROUNDS, QUICK_ROUNDS = 9, 3


def main(arguments: list[str] | None = None) -> int:
    """Run the rows that were asked for; the exit code."""
    options = parser().parse_args(arguments)
    present = engines(quick=options.quick)
    if options.gate and OURS not in present:
        print(f"nothing to gate, this package is not installed: {OURS}", file=sys.stderr)
        return 2
    if options.no_oracle:
        present.pop(THEIRS, None)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    results = []
    if not options.json:
        print(header(), flush=True)
    for row in chosen(options.rows):
        results.append(measure(row, present, rounds))
        if not options.json:
            print(table_line(results[-1]), flush=True)
    if options.json:
        print(document(results))
    return gate(results) if options.gate else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    names = ", ".join(row.name for row in ROWS)
    made.add_argument("--rows", metavar="NAME,…", help=f"only these rows, of: {names}")
    made.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_ROUNDS} rounds, not {ROUNDS}, and LangGraph not as far",
    )
    made.add_argument("--rounds", type=int, metavar="N", help="another number of rounds")
    made.add_argument("--json", action="store_true", help="print JSON, samples included")
    made.add_argument("--gate", action="store_true", help="exit with 1 when a gate fails")
    made.add_argument("--no-oracle", action="store_true", help="leave LangGraph out")
    return made


def chosen(names: str | None) -> list[Row]:
    """The rows of that name, in the table's order.

    Raises:
        SystemExit: a name is unknown.
    """
    if names is None:
        return list(ROWS)
    wanted = set(names.split(","))
    if unknown := wanted - {row.name for row in ROWS}:
        raise SystemExit(f"no row of that name: {', '.join(sorted(unknown))}")
    return [row for row in ROWS if row.name in wanted]


def gate(results: list[Result]) -> int:
    """Name each gate that failed; 1 if there is one."""
    failed = [
        f"gate failed, `{result.row.name}` {verdict.goal}"
        f" against {verdict.gate:g}: {verdict.value:.3g}"
        for result in results
        for verdict in verdicts(result)
        if verdict.mark == FAILED
    ]
    print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
