"""Runs thousands of jobs of all kinds in one sandbox, from eight threads and a loop at once.

`python many_runs.py RUNS` prints as one JSON object how they ended, and what the process had of the
machine before, meanwhile and afterwards.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
import json
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from antiphon.sandbox import Limits, Sandbox
from sandbox.leaks.mixed_runs import CALLS, MEMORY, WALL, add, end_of, fail, session_runs, single
from sandbox.leaks.process_resources import resident, traces
from support.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.leaks.process_resources import Traces

_THREADS = 8
_TASKS = 4
_SESSION, _CANCEL = 23, 17
"""Of so many turns of a thread one is a session, of a task one is cancelled."""
_WARM = 120
"""Runs after which everything is loaded that stays so."""
_SPARES = 2


class Work:
    """A sandbox, and many who use it; a context manager.

    Attributes:
        ends: how many runs ended how.
        surprises: runs that did not end as they must.
    """

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.surprises: list[str] = []
        limits = Limits(wall=WALL, memory=MEMORY, host_calls=CALLS)
        self._box = Sandbox("process", limits=limits, tools=[add, fail, self.started])
        self._lock = threading.Lock()
        self._turns = itertools.count(1)
        self._wanted = 0
        self._started: dict[int, asyncio.Event] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._box.close()

    def do(self, runs: int) -> None:
        """Makes so many runs more, or a few beyond."""
        self._wanted += runs
        with ThreadPoolExecutor(_THREADS) as pool:
            done = [pool.submit(self._thread) for _ in range(_THREADS)]
            asyncio.run(self._loop())
        for each in done:
            each.result()

    async def started(self, number: int) -> None:
        """Marks that a run is in progress."""
        self._started[number].set()

    def _thread(self) -> None:
        for turn in self._left():
            if turn % _SESSION == 0:
                for found, end in session_runs(self._box, turn // _SESSION):
                    self._note(found, end, "a session")
            else:
                code, inputs, end = single(turn)
                self._note(end_of(self._box.run(code, inputs=inputs)), end, code)

    async def _loop(self) -> None:
        await asyncio.gather(*(self._task() for _ in range(_TASKS)))

    async def _task(self) -> None:
        for turn in self._left():
            if turn % _CANCEL == 0:
                self._note(await self._cancelled(turn), "cancelled", "a task")
            else:
                code, inputs, end = single(turn)
                self._note(end_of(await self._box.arun(code, inputs=inputs)), end, code)

    async def _cancelled(self, turn: int) -> str:
        started = self._started[turn] = asyncio.Event()
        task = asyncio.create_task(self._box.arun(f"started({turn})\nwhile True:\n    pass"))
        await started.wait()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "not cancelled"

    def _left(self) -> Iterator[int]:
        while self.ends.total() < self._wanted:
            yield next(self._turns)

    def _note(self, found: Any, end: Any, code: str) -> None:
        with self._lock:
            self.ends[end if isinstance(end, str) else "value"] += 1
            if found != end:
                self.surprises.append(f"{code[:60]!r}: {str(found)[:80]!r}")


def main(runs: int) -> dict[str, Any]:
    """What came of so many runs."""
    memory = []
    with Work() as work:
        work.do(_WARM)
    before = _settled()
    with Work() as work:
        work.do(_WARM)
        first = _settled(_SPARES)
        memory.append(resident())
        started = time.monotonic()
        work.do(runs)
        seconds = time.monotonic() - started
        last = _settled(_SPARES)
        memory.append(resident())
    after = _settled()
    shots = {"before": before, "first": first, "last": last, "after": after}
    return {
        "seconds": round(seconds, 1),
        "ends": dict(work.ends.most_common()),
        "surprises": work.surprises,
        "memory": memory,
        **{name: dataclasses.asdict(shot) for name, shot in shots.items()},
    }


def _settled(workers: int = 0) -> Traces:
    """What there is once what has ended is gone, and as many workers wait for a job."""
    gc.collect()
    # A zygote and its guard.
    processes = workers + 2 if workers else 0
    found = [traces()]

    def is_settled() -> bool:
        found.append(traces())
        return found[-1] == found[-2] and len(found[-1].processes) == processes

    happens(is_settled, seconds=30, every=0.1)
    return found[-1]


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
