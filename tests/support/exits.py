"""Programs that end while threads of theirs are busy, and how they ended.

The programs need nothing but antiphon, so that any Python can run them. Their threads loop
without an end, in Python code and in waits: each end of the interpreter meets them somewhere else.
"""

import os
import subprocess
import sys
from pathlib import Path

HEAD = """
import asyncio, operator, threading, time
from typing import Annotated, Any, TypedDict
from antiphon.graph import END, START, Send, StateGraph

class State(TypedDict, total=False):
    count: Annotated[int, operator.add]

def loop(node, times=1, **options):
    builder = StateGraph(State).add_node("n", node, **options)
    sends = lambda state: [Send("n", state)] * times
    builder.add_conditional_edges(START, sends)
    builder.add_node("again", lambda state: None, defer=True).add_edge("n", "again")
    return builder.add_conditional_edges("again", sends).compile()

def add(state):
    return {"count": 1}

def nap(state):
    time.sleep(0.001)
    return {"count": 1}

def spin(state):
    while True:
        pass

def naps(state):
    while True:
        time.sleep(0.001)

async def anap(state):
    await asyncio.sleep(0.001)
    return {"count": 1}

CONFIG = {"recursion_limit": 10**9}

def drive(graph):
    graph.invoke({"count": 0}, CONFIG)

def watch(graph, mode="updates"):
    for _ in graph.stream({"count": 0}, CONFIG, stream_mode=mode):
        pass

def adrive(graph):
    asyncio.run(graph.ainvoke({"count": 0}, CONFIG))

def beside(function, *args):
    threading.Thread(target=function, args=args, daemon=True).start()
    time.sleep(0.05)
"""

PENDING = """
async def main():
    tasks = [asyncio.ensure_future(graph.ainvoke({"count": 0}, CONFIG)) for _ in range(5)]
    await asyncio.sleep(0.05)

asyncio.run(main())
"""


TOOL = """
from antiphon.sandbox import Limits, Sandbox
from antiphon.tools import tool

@tool
def busy() -> int:
    while True:
        sum(range(1000))

options = {"i_accept_no_isolation": True} if ENGINE == "subprocess" else {}
box = Sandbox(ENGINE, tools=[busy], limits=Limits(wall=0.5), **options)
error = box.run("busy()").error
assert error and error.kind == "time_limit", error
"""

REVIEW = """
from antiphon.systems import ReviewLoop

def reply(request):
    time.sleep(0.001)
    return '{"x": 1}'

def ask():
    for _ in ReviewLoop(reply).stream("?"):
        pass

def again(function):
    while True:
        try:
            function()
        except Exception:
            pass
"""

STORE = """
from tempfile import mkdtemp
from antiphon.checkpoint import SqliteSaver

saver = SqliteSaver.open(mkdtemp() + "/runs.db")
graph = StateGraph(State).add_node("n", add).add_edge(START, "n").compile(saver)
config = {"configurable": {"thread_id": "t"}}

def read():
    while True:
        graph.invoke({"count": 1}, config)
        list(graph.get_state_history(config, limit=20)), saver.threads()
"""

PROGRAMS = {
    "a run of short nodes": "beside(drive, loop(add))",
    "a node that spins": "beside(drive, loop(spin))",
    "a node that naps": "beside(drive, loop(naps))",
    "a fan-out": "beside(drive, loop(nap, 5))",
    "a fan-out that spins": "beside(drive, loop(spin, 3))",
    "nodes with a time-out": "beside(drive, loop(nap, 3, timeout=1))",
    "async nodes of a sync run": "beside(drive, loop(anap, 3))",
    "a stream": "beside(watch, loop(nap, 3))",
    "a live stream": "beside(watch, loop(nap, 3), 'custom')",
    "an event loop": "beside(adrive, loop(anap, 3))",
    "an event loop with sync nodes": "beside(adrive, loop(nap, 3))",
    "a pending ainvoke": "graph = loop(nap)" + PENDING,
    "a pending ainvoke of a fan-out": "graph = loop(nap, 3)" + PENDING,
    "a ready system": REVIEW + "beside(again, ask)",
    "calls that fail": REVIEW + "beside(again, lambda: ReviewLoop(reply, tools=[add]))",
    "a store": STORE + "beside(read)",
    "a tool of a sandbox": 'ENGINE = "subprocess"' + TOOL,
    "a tool of a jail": 'ENGINE = "process"' + TOOL,
}
"""What still runs when the program ends, by its name."""


REPOSITORY = Path(__file__).resolve().parents[2]


def other_pythons() -> list[str]:
    """The interpreters of other versions on this machine that the extension can be loaded into."""
    found = sorted(Path.home().glob(".pyenv/versions/3.1[1-9].*/bin/python"))
    here = ".".join(map(str, sys.version_info[:2]))
    return [str(python) for python in found if not python.parts[-3].startswith(f"{here}.")]


def failures(name: str, rounds: int, python: str = sys.executable) -> list[tuple[int, str]]:
    """Run a program so often; say of each that did not end well how it did, with its last words."""
    found = []
    for _ in range(rounds):
        done = subprocess.run(
            [python, "-c", HEAD + PROGRAMS[name]],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "python")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode or "panicked" in done.stderr or "Fatal" in done.stderr:
            found.append((done.returncode, done.stderr[-2000:]))
    return found
