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
    for _ in range(2 if impl.name == "antiphon" else 1):
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


WATCHED = """
import atexit, threading

asked, closed, shown = threading.Event(), threading.Event(), threading.Event()

def last():
    closed.set()
    assert shown.wait(60), "the second event was not shown"
    print("last")

atexit.register(last)  # runs after that of antiphon, which is registered by its import

from antiphon.systems import ReviewLoop

def reply(request):
    asked.set()
    threading.Event().wait()

def watch(event):
    if closed.is_set():
        shown.set()
    asked.wait()
    closed.wait()

def ask():
    ReviewLoop(reply).run("?", watch=watch)

threading.Thread(target=ask, daemon=True).start()
asked.wait()
"""

AT_EXIT = """
import atexit

@atexit.register
def last():
    try:
        print("result", {call})
    except Exception as error:
        print(f"error {{error}}")

import asyncio
from support.states import Plain
from antiphon.graph import START, Send, StateGraph
from antiphon.systems import ReviewLoop

def node(i):
    return None

def fan(**options):
    builder = StateGraph(Plain).add_node("n", node, **options)
    sends = lambda state: [Send("n", i) for i in range(3)]
    return builder.add_conditional_edges(START, sends).compile()

system = ReviewLoop(lambda request: "")
"""

LAST_CALLS = {
    'fan().invoke({"a": 1})': "result {'a': 1}",
    'list(fan().stream({"a": 1}))': "error the run was cancelled: the interpreter is exiting",
    'fan(timeout=60).invoke({"a": 1})': "error the run was cancelled: the interpreter is exiting",
    'asyncio.run(fan().ainvoke({"a": 1}))': (
        "error the run was cancelled: the interpreter is exiting"
    ),
    'system.run("?").outcome': "result cancelled",
    'asyncio.run(system.arun("?"))': "error the interpreter is exiting",
}


def output_of(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_an_event_is_shown_on_a_thread_while_the_process_exits() -> None:
    assert output_of(WATCHED) == "last"


@pytest.mark.parametrize("call", LAST_CALLS)
def test_a_call_at_exit_does_not_wait_for_threads_that_are_gone(call: str) -> None:
    assert output_of(AT_EXIT.format(call=call)) == LAST_CALLS[call]
