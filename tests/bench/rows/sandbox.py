"""The sandbox: what a run costs, from a cold start, a fork and a spare; alone and at once.

The floor is the cheapest process without a jail: a new interpreter (`python -c`), or a bare fork of
one that has imported the packages. The column is blank on platforms without a jail.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from statistics import median
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bench.boxed import (
    AT_ONCE,
    MONTY,
    SMOLAGENTS,
    Run,
    monty,
    monty_memory,
    plain,
    rested,
    sandbox,
    smolagents,
    spare_memory,
)
from bench.engine import Engine
from bench.forked import CODE, RUNS
from bench.row import Goal, Row, Sample, sync
from bench.rows.process import printed
from sandbox.snippets.snippets import Snippet, load, passes

if TYPE_CHECKING:
    from antiphon.sandbox import Sandbox
    from antiphon.sandbox._engines import EngineName

DATA = ("pandas",)
JOBS = 64
CALLS = 500

COLD = """
from time import perf_counter
{imports}
began = perf_counter()
{run}
print(perf_counter() - began)
"""
COLD_SANDBOX = "Sandbox('process', packages={packages}).run('1 + 1').check()"
COLD_MONTY = """
with pydantic_monty.Monty() as pool, pool.checkout() as session:
    session.feed_run('1 + 1')
"""
COLD_SMOLAGENTS = "LocalPythonExecutor([])('1 + 1')"
MANY_CALLS = f"""
for i in range({CALLS}):
    add(i, 1)
"""


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def of(run: Run | None, code: str = CODE) -> Sample | None:
    """Runs code again and again, where there is something to run it."""
    return None if run is None else sync(lambda: run(code))


def ours(make: Callable[[], "Sandbox | None"], work: Callable[["Sandbox"], Sample]) -> Any:
    """A case for antiphon alone, where it has a jail."""

    def case(engine: Engine) -> Sample | None:
        box = make() if engine.ours else None
        return None if box is None else work(box)

    return case


def cold(imports: str, run: str) -> Sample:
    """From nothing to a first result, in a fresh process; its imports are not counted."""
    return lambda _: printed("-P", "-c", COLD.format(imports=imports, run=run))


def cold_row(name: str, suffix: str, *packages: str) -> Row:
    """The first run of a process, its probe included."""
    imports = "import " + ", ".join(packages) if packages else CODE

    def case(engine: Engine) -> Sample | None:
        if not engine.ours or sandbox() is None:
            return None
        run = COLD_SANDBOX.format(packages=packages)
        return cold("from antiphon.sandbox import Sandbox", run)

    others = {
        MONTY: lambda: monty() and cold("import pydantic_monty", COLD_MONTY),
        SMOLAGENTS: lambda: (
            smolagents()
            and cold(
                "from smolagents.local_python_executor import LocalPythonExecutor", COLD_SMOLAGENTS
            )
        ),
    }
    return Row(
        f"box-cold{name}",
        f"a process's first sandbox{suffix}, to a result",
        "ms",
        1,
        floor=lambda _: sync(lambda: plain(imports)),
        engine=case,
        scale=1e3,
        once=True,
        beside={} if packages else others,
    )


def start_row(name: str, suffix: str, start: str, goals: dict[str, Goal], *packages: str) -> Row:
    """A run in a worker that comes from a fork, or has been waiting."""

    def work(box: "Sandbox") -> Sample:
        return typical(lambda: rested(box, start))

    def other(run: Run | None) -> Sample | None:
        sample = of(run)
        return None if sample is None else typical(lambda: sample(1))

    others = {MONTY: lambda: other(monty()), SMOLAGENTS: lambda: other(smolagents())}
    return Row(
        f"box-{start}{name}",
        f"`{CODE}` from a {start}{suffix} (floor: bare)",
        "ms",
        1,
        floor=lambda _: lambda _: printed("-m", "bench.forked", start, *packages),
        engine=ours(lambda: sandbox(*packages, spares=start == "spare"), work),
        scale=1e3,
        once=True,
        beside=others if start == "spare" and not packages else {},
        **goals,
    )


def typical(once: Callable[[], float]) -> Sample:
    """The median of single runs: what a shared machine adds to some of them is no part of it."""
    return lambda _: median(once() for _ in range(RUNS))


def at_once(run: Run | None, threads: int) -> Sample | None:
    """Runs, so many at a time."""
    if run is None:
        return None

    def sample(_: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, [CODE] * threads))
            began = perf_counter()
            list(pool.map(run, [CODE] * JOBS))
            return perf_counter() - began

    return sample


def throughput_row(threads: int) -> Row:
    """The time that passes for each of many runs."""

    def work(box: "Sandbox") -> Sample:
        sample = at_once(lambda code: box.run(code).check(), threads)
        assert sample is not None
        return sample

    return Row(
        f"box-at-{threads}",
        f"run of `{CODE}`, {threads} at a time, each's share",
        "ms",
        JOBS,
        floor=lambda _: at_once(plain, threads),
        engine=ours(sandbox, work),
        scale=1e3,
        once=True,
        beside={
            MONTY: lambda: at_once(monty(), threads),
            SMOLAGENTS: lambda: at_once(smolagents(), threads),
        },
    )


def memory_row(name: str, suffix: str, *packages: str) -> Row:
    """What each spare takes while it waits."""

    def case(engine: Engine) -> Sample | None:
        if not engine.ours or spare_memory() is None:
            return None
        return amount(lambda: spare_memory(*packages))

    return Row(
        f"box-memory{name}",
        f"private memory of a spare{suffix}",
        "MiB",
        1 << 20,
        floor=lambda _: None,
        engine=case,
        scale=1,
        once=True,
        beside={} if packages else {MONTY: lambda: amount(monty_memory) if monty() else None},
    )


def amount(of: Callable[[], float | None]) -> Sample:
    """A figure that is no time."""
    return lambda _: of() or 0.0


def calls(box: "Sandbox") -> Sample:
    """Calls of a function of the host, one after the other in one run."""
    return sync(lambda: box.run(MANY_CALLS).check())


def failed(snippets: list[Snippet], run: Callable[[Snippet], Any]) -> Sample:
    """The number of snippets that do not come to what CPython comes to."""
    return lambda _: float(sum(not come_out(snippet, run) for snippet in snippets))


def come_out(snippet: Snippet, run: Callable[[Snippet], Any]) -> bool:
    """Whether a snippet comes out right."""
    try:
        return passes(snippet, run(snippet))
    except Exception:  # noqa: BLE001 - any exception is a failure
        return False


def snippets(engine: Engine) -> Sample | None:
    """The snippets in the jail."""
    return snippets_in("process") if engine.ours and sandbox() is not None else None


def snippets_in(name: "EngineName") -> Sample:
    """The snippets in an engine of antiphon's."""
    from antiphon.sandbox import Limits, Sandbox

    @cache
    def box(packages: tuple[str, ...]) -> Sandbox:
        return Sandbox(name, packages=packages, limits=Limits(wall=60))

    return failed(load(), lambda snippet: box(snippet.packages).run(snippet.code))


def snippets_in_smolagents() -> Sample | None:
    """The snippets in its executor, every import allowed; what they print is left aside."""

    def run(snippet: Snippet) -> Any:
        executor = smolagents("*")
        assert executor is not None
        # It gives the value of statements too.
        value = executor(snippet.code).output if snippet.value is not None else None
        if isinstance(snippet.value, dict) and "table" in snippet.value:
            value = SimpleNamespace(to_arrow=lambda frame=value: arrow(frame))
        return SimpleNamespace(ok=True, stdout=snippet.stdout, value=value)

    return None if smolagents() is None else failed(load(), run)


def arrow(frame: Any) -> Any:
    """A data frame as a table of Arrow."""
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


WITH_DATA = ", with pandas"
# See `docs/decisions/0012-sandbox-benchmarks.md`.
FORK = {"times_floor": Goal(2.4, 4.7)}
FORK_DF = {"times_floor": Goal(1.35, 1.8)}
SPARE = {"absolute": Goal(0.5, 1)}
ROWS = (
    cold_row("", ""),
    cold_row("-df", WITH_DATA, *DATA),
    start_row("", "", "fork", FORK),
    start_row("-df", WITH_DATA, "fork", FORK_DF, *DATA),
    start_row("", "", "spare", SPARE),
    start_row("-df", WITH_DATA, "spare", SPARE, *DATA),
    *(throughput_row(threads) for threads in (1, 2, AT_ONCE)),
    memory_row("", ""),
    memory_row("-df", WITH_DATA, *DATA),
    Row(
        "box-call",
        "call of a function of the host",
        "µs",
        CALLS,
        floor=lambda _: None,
        engine=ours(lambda: sandbox(tools=(add,)), calls),
        once=True,
        beside={
            MONTY: lambda: of(monty(add=add), MANY_CALLS),
            SMOLAGENTS: lambda: of(smolagents(add=add), MANY_CALLS),
        },
    ),
    Row(
        "box-snippets",
        f"snippets of {len(load())} that do not come out right",
        "",
        1,
        floor=lambda _: None,
        engine=snippets,
        absolute=Goal(0, 0),
        scale=1,
        once=True,
        beside={
            f"antiphon with {MONTY}": lambda: monty() and snippets_in("monty"),
            SMOLAGENTS: snippets_in_smolagents,
        },
    ),
)
