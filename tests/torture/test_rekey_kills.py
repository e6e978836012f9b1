"""Processes that are killed while they write a store anew with another key."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from antiphon.checkpoint import Saver, SqliteSaver
from antiphon.graph import END, START, StateGraph
from support.states import Log
from support.torture import rounds

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
THREADS, STEPS = rounds(6, 12), rounds(150, 400)

VICTIM = """
import sys
from antiphon.checkpoint import SqliteSaver

path, old, new = sys.argv[1], *map(bytes.fromhex, sys.argv[2:])
with SqliteSaver.open(path, key=[new, old]) as saver:
    print("begin", flush=True)
    done = saver.rekey()
    print(done.entries, *done.damaged, flush=True)
"""


def graph(saver: Saver, until: int) -> Any:
    """Counts so far."""
    builder = StateGraph(Log).add_node("count", lambda s: {"log": [len(s.get("log", []))]})
    builder.add_edge(START, "count")
    builder.add_conditional_edges("count", lambda s: "count" if len(s["log"]) < until else END)
    return builder.compile(checkpointer=saver)


def place(thread: int) -> Any:
    """How a thread is named."""
    return {"configurable": {"thread_id": f"t{thread}"}, "recursion_limit": 10**6}


def held(path: Path, key: Any) -> list[int]:
    """How much the threads hold, of which each can be gone on with."""
    with SqliteSaver.open(path, key=key) as saver:
        counting = graph(saver, STEPS)
        logs = [counting.get_state(place(n)).values["log"] for n in range(THREADS)]
        assert [one.status for one in saver.threads()] == ["ended"] * THREADS
    assert all(log == list(range(len(log))) for log in logs)
    return [len(log) for log in logs]


def killed(path: Path, seconds: float) -> bool:
    """Write anew for so long at most; whether it was killed before it was done."""
    command = [sys.executable, "-c", VICTIM, str(path), OLD.hex(), NEW.hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        rest = process.stdout.read()
    assert len(rest.split()) <= 1, f"damaged: {rest}"
    return not rest


def test_threads_can_be_read_all_the_while(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    chance = random.Random(7)
    with SqliteSaver.open(path, key=OLD) as saver:
        for thread in range(THREADS):
            graph(saver, STEPS).invoke({"log": []}, place(thread))
    kills = 0
    while killed(path, chance.uniform(0, 0.02 * (kills + 1))):
        kills += 1
        assert held(path, [NEW, OLD]) == [STEPS] * THREADS
        assert kills < 500
    assert kills > 2, "nothing was killed"
    assert held(path, NEW) == [STEPS] * THREADS
    with SqliteSaver.open(path, key=NEW) as saver:
        assert graph(saver, STEPS + 1).invoke({}, place(0))["log"][-1] == STEPS
