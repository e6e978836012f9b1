"""A process that does everything that writes to a file, while its system calls are recorded.

Its one argument is a job in JSON. The record holds its acknowledgements between the calls.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from antiphon.graph import Command
from support.system_calls import Kill, SystemCalls
from torture.killed_operations import World, open_store, place


def write(world: World, number: int, job: dict[str, Any]) -> None:
    """Do everything once, in threads of this round."""
    thread, saver = f"run {number}", world.saver
    config = place(thread)
    world.begin(job["durability"], config, until=job["payments"], asks=True)
    world.note("paused")
    assert world.graph.get_state(config).interrupts
    world.note("answering")
    world.graph.invoke(Command(resume="yes"), config, durability=job["durability"])
    world.note("answered")
    world.graph.update_state(config, {"log": ["edited"]}, as_node="deliver")
    world.note("edited")
    saver.copy_thread(thread, f"copy {number}")
    world.note("copied")
    saver.prune(thread, keep_last=2)
    world.note("pruned")
    saver.copy_thread(thread, f"gone {number}")
    world.note("deleting")
    saver.delete_thread(f"gone {number}")
    world.note("deleted")
    if number == 1:
        saver.compact()


def main(job: dict[str, Any]) -> None:
    """Write in rounds: the end of each moves the log into the file."""
    calls = SystemCalls(job["path"], Kill(), job["record"])
    for number in range(job["rounds"]):

        def note(text: str, number: int = number) -> None:
            calls.acknowledge(f"{number} {text}")

        with open_store(f"sqlite:{job['path']}", job["keys"], sync=job["sync"]) as saver:
            write(World(saver, note, job["size"]), number, job)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
