"""Processes that are forked from one another."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_no_process_draws_the_ids_that_another_draws() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    drawn = [line.partition("-7")[2] for line in done.stdout.split()]  # the rest is the time
    assert len(set(drawn)) == 3
