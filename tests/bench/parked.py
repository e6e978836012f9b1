"""Prints the KiB that one suspended run holds: `python -m bench.parked floor|antiphon|langgraph`.

2,000 runs are parked in the second of three async nodes, each with its asyncio task; the growth of
the resident memory is divided by their number. Linux only, where a process can read its own.
"""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bench.engine import Engine
from bench.rows.chain import State, anode

RUNS, WARM = 2000, 50


def resident() -> float:
    """Resident memory of this process, in KiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def runner(name: str, park: Any) -> Callable[[], Coroutine[Any, Any, Any]]:
    """A function that starts one run that parks."""
    if name == "floor":
        return lambda: bare(park)
    engine = Engine(name)
    builder = engine.impl.StateGraph(State)
    builder.add_sequence([("a", anode), ("park", park), ("z", anode)]).set_entry_point("a")
    graph = engine.compile(builder)
    return lambda: graph.ainvoke({"n": 0})


async def bare(park: Any) -> Any:
    """The floor: the same three nodes in a plain loop."""
    state: Any = {"n": 0}
    for step in (anode, park, anode):
        state = {**state, **await step(dict(state))}
    return state


async def main(name: str) -> float:
    """Park a few runs to warm up, then measure the growth by many more."""
    entered = target = 0
    gate, reached = asyncio.Event(), asyncio.Event()

    async def park(state: Any) -> State:
        nonlocal entered
        entered += 1
        if entered == target:
            reached.set()
        await gate.wait()
        return {"n": state["n"] + 1}

    start = runner(name, park)

    async def parked(count: int) -> list[asyncio.Task[Any]]:
        nonlocal target
        target += count
        reached.clear()
        tasks = [asyncio.ensure_future(start()) for _ in range(count)]
        await reached.wait()
        return tasks

    tasks = await parked(WARM)
    before = resident()
    tasks += await parked(RUNS)
    grown = resident() - before
    gate.set()
    await asyncio.gather(*tasks)
    return grown / RUNS


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
