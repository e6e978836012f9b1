"""A fork has none of its parent's threads: it gets its own, or an error, and never hangs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.oracle import Impl

TESTS = Path(__file__).resolve().parents[1]

PROGRAM = """
import os
from antiphon import Agent, Orchestrator
from antiphon.models import scripted
from antiphon.systems import ReviewLoop

class Says(Agent):
    def act(self, state, ctx):
        return "said"

class Waits(Agent):
    async def act(self, state, ctx):
        return "said"

def loop():
    return ReviewLoop(scripted(["x"] * 20), retry_limit=1)

work = WORK
print(work().outcome, flush=True)
child = os.fork()
if child == 0:
    try:
        print(work().outcome, flush=True)
    except Exception as error:
        print(error.code, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""

WORK = {
    "a sync agent": ('lambda: Orchestrator([Says()]).run("q")', "answered"),
    "an async agent": ('lambda: Orchestrator([Waits()]).run("q")', "answered"),
    "agents side by side": (
        'lambda: Orchestrator([[Says(name="a"), Says(name="b")]]).run("q")',
        "answered",
    ),
    "an agent with a time-out": ('lambda: Orchestrator([Says()], timeout=60).run("q")', "answered"),
    "a model": (
        'lambda: Orchestrator([Agent(name="m", model=scripted(["x"]))]).run("q")',
        "process_forked",
    ),
    "a review loop": ('lambda: loop().run("q")', "process_forked"),
}


DRAWING = """
import os
from antiphon.graph import START, Runtime, StateGraph

def name(state: dict, runtime: Runtime) -> dict:
    return {"id": runtime.execution_info.run_id}

graph = StateGraph(dict[str, str]).add_node(name).add_edge(START, "name").compile()
graph.invoke({"id": ""})
for _ in range(2):
    child = os.fork()
    if child == 0:
        print(graph.invoke({"id": ""})["id"], flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print(graph.invoke({"id": ""})["id"], flush=True)
"""


FORKING = """
import asyncio
import os
import signal
import sys
import threading
from antiphon.graph import START, StateGraph

async def count(state: dict) -> dict:
    return {"log": state["log"] + 1}

def compiled(node, checkpointer=None):
    builder = StateGraph(dict[str, int]).add_node("node", node)
    return builder.add_edge(START, "node").compile(checkpointer)

stored, plain = compiled(count, sys.argv[1]), compiled(lambda state: {"log": 1})
over = threading.Event()

async def store(thread):
    config = {"configurable": {"thread_id": thread}}
    while not over.is_set():
        await stored.ainvoke({"log": 0}, config)
        await stored.aget_state(config)

async def main():
    await asyncio.gather(*[store(thread) for thread in "abcd"])

storing = threading.Thread(target=asyncio.run, args=(main(),))
storing.start()
for number in range(120):
    plain.invoke({"log": 0})
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is killed
        plain.invoke({"log": 0})
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
over.set()
storing.join()
"""


@pytest.mark.only("antiphon")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("case", WORK)
def test_a_fork_works_or_says_why_it_cannot(impl: Impl, case: Any) -> None:
    del impl
    work, ending = WORK[case]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.replace("WORK", work)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    first, second = done.stdout.split()
    assert first in {"answered", "retry_limit"}, done.stderr
    assert second == ending, done.stderr


@pytest.mark.only("antiphon")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_no_process_draws_the_ids_that_another_draws(impl: Impl) -> None:
    del impl
    command = [sys.executable, "-W", "ignore", "-c", DRAWING]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True)
    drawn = [line.partition("-7")[2] for line in done.stdout.split()]  # what precedes is the time
    assert len(set(drawn)) == 3


@pytest.mark.slow
@pytest.mark.only("antiphon")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_fork_finds_no_lock_that_a_native_thread_held(
    impl: Impl, backend: str, tmp_path: Path
) -> None:
    del impl
    url = "memory:" if backend == "memory" else f"sqlite:///{tmp_path}/runs.db"
    command = [sys.executable, "-W", "ignore", "-c", FORKING, url]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
