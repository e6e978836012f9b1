"""Ways to run code that nobody trusts: antiphon's sandbox, and what it is measured beside."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench.forked import CODE, REST

if TYPE_CHECKING:
    from antiphon.sandbox import Sandbox

Run = Callable[[str], Any]
MONTY, SMOLAGENTS = "pydantic-monty", "smolagents"
AT_ONCE = 8


def sandbox(*packages: str, spares: bool = True, tools: tuple[Any, ...] = ()) -> "Sandbox | None":
    """A jailed sandbox that has run something; None where there is no jail."""
    from antiphon.errors import SandboxUnavailable
    from antiphon.sandbox import Limits, Sandbox, _native

    # Users have no say in the number of spares.
    complete = _native._complete

    def settings(known: Any) -> dict[str, Any]:
        return complete(known) if spares else {**complete(known), "spares": 0}

    with patch.object(_native, "_complete", settings):
        try:
            box = Sandbox("process", packages=packages, tools=tools, limits=Limits(wall=60))
        except SandboxUnavailable:
            return None
    box.run(CODE).check()
    return box


def rested(box: "Sandbox", start: str) -> float:
    """Seconds of a run while the sandbox does nothing else.

    Args:
        box: where it runs.
        start: how its worker has to have come to be; other runs do not count.
    """
    while True:
        sleep(REST)
        began = perf_counter()
        result = box.run(CODE)
        seconds = perf_counter() - began
        if result.check().usage.start == start:
            return seconds


def plain(code: str) -> None:
    """Runs code in an interpreter that is started for it, with nothing around it."""
    subprocess.run([sys.executable, "-I", "-c", code], check=True, stdout=subprocess.DEVNULL)


def monty(**functions: Callable[..., Any]) -> Run | None:
    """Monty's pool of workers, warm; each run has its own session."""
    if find_spec("pydantic_monty") is None:
        return None
    import pydantic_monty

    # Closed when nobody can run anything in it any more.
    pool = contextlib.ExitStack()
    workers = pool.enter_context(pydantic_monty.Monty(max_processes=AT_ONCE))

    def run(code: str) -> Any:
        with workers.checkout(limits={"max_memory": 256 << 20}) as session:
            return session.feed_run(code, external_lookup=functions)

    return run


def smolagents(*packages: str, **functions: Callable[..., Any]) -> Run | None:
    """The executor that smolagents has by default; it interprets in this process."""
    if find_spec("smolagents") is None:
        return None
    from smolagents.local_python_executor import LocalPythonExecutor

    def run(code: str) -> Any:
        executor = LocalPythonExecutor([*packages], additional_functions=functions)
        executor.send_tools({})
        return executor(code)

    return run


def monty_memory() -> float | None:
    """Bytes that a worker of Monty's has for itself."""
    if find_spec("pydantic_monty") is None:
        return None
    import pydantic_monty

    with pydantic_monty.Monty() as pool, pool.checkout() as session:
        session.feed_run(CODE)
        return float(private(session.worker_pid or 0))


def spare_memory(*packages: str) -> float | None:
    """Bytes that a waiting worker has for itself, as the kernel counts; None without a jail."""
    before = _children(os.getpid())
    box = sandbox(*packages)
    if box is None:
        return None
    sleep(REST * 10)
    [zygote] = set(_children(os.getpid())) - set(before)
    sizes = [private(pid) for pid in _leaves(zygote)]
    box.close()
    return sum(sizes) / len(sizes)


def private(pid: int) -> int:
    """Bytes of memory that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    sizes = (line.split()[1] for line in lines if line.startswith("Private_"))
    return 1_024 * sum(int(size) for size in sizes)


def _leaves(pid: int) -> Iterator[int]:
    children = _children(pid)
    if not children:
        yield pid
    for child in children:
        yield from _leaves(child)


def _children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in lists for child in each.read_text(encoding="ascii").split()]
