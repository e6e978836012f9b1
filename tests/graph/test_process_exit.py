"""A process that ran graphs ends as it should, at any point of its nodes' work."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.exits import PROGRAMS, failures
from support.oracle import Impl

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]

PROGRAM = """
import asyncio, sys
from support.oracle import Impl
from support.states import Plain
from support.waiting import take_time

impl = Impl({name!r})

def fine(i):
    take_time(0.01 * i)

def fail(i):
    take_time(0.01 * i)
    raise ValueError("mine")

def leave(i):
    sys.exit(3)

def fan(node):
    builder = impl.StateGraph(Plain).add_node("n", node)
    sends = [impl.Send("n", i) for i in range(3)]
    return builder.add_conditional_edges(impl.START, lambda s: sends).compile()

{line}
"""

CASES = {
    "after a fan-out": ('fan(fine).invoke({"a": 1})', 0),
    "after an async fan-out": ('asyncio.run(fan(fine).ainvoke({"a": 1}))', 0),
    "by a failure": ('fan(fail).invoke({"a": 1})', 1),
    "by a failure in an async run": ('asyncio.run(fan(fail).ainvoke({"a": 1}))', 1),
    "by a node that exits": (
        'impl.sequence(Plain, ("n", leave)).invoke({"a": 1})',
        3,
    ),
    "in the middle of a stream": ('chunks = fan(fine).stream({"a": 1}); next(chunks)', 0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_process_that_ran_a_graph_ends_cleanly(impl: Impl, case: str) -> None:
    line, code = CASES[case]
    program = PROGRAM.format(name=impl.name, line=line)
    for _ in range(5 if impl.name == "antiphon" else 1):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=TESTS,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stderr[-2000:]
        assert ("mine" in done.stderr) == (code == 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_ends_while_its_threads_are_busy(name: str) -> None:
    assert failures(name, rounds=2) == []
