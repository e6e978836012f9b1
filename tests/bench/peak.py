"""Prints the KiB of one of 200 runs at once: `python -m bench.peak bench.rows.plan antiphon`.

The growth of the highest resident memory of this process is divided by the number of runs.
Linux only, where a process can read its own.
"""

import asyncio
import gc
import importlib
import sys
from pathlib import Path

from bench.engine import Engine
from bench.rows.at_once import RUNS, WARM, Asking


def highest() -> float:
    """The highest resident memory of this process so far, in KiB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))


async def main(asking: Asking, name: str) -> float:
    """Ask a few questions to warm up, then measure the growth by many at once."""
    ask = asking(Engine(name))
    for _ in range(WARM):
        await ask()
    before = highest()
    await asyncio.gather(*(ask() for _ in range(RUNS)))
    return (highest() - before) / RUNS


if __name__ == "__main__":
    print(asyncio.run(main(importlib.import_module(sys.argv[1]).asking, sys.argv[2])))
