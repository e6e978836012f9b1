"""Run code in bare forks of this interpreter, and print the median of the seconds that took.

`python -m bench.forked fork pandas`: forked for the run, pandas imported before; or `spare`: forked
before it, and waiting since.
"""

import gc
import importlib
import os
import socket
import sys
from statistics import median
from time import perf_counter, sleep

STARTS = ("fork", "spare")
RUNS = 20
"""Single runs of which the median is taken: a shared machine adds to some of them."""
REST = 0.03
"""Seconds in which spares are made again, and the leftovers of the last run disappear."""
CODE = "1 + 1"
ANSWER = b"2"


def forked(*, waits: bool) -> float:
    """Seconds until a fork has answered; without its birth if it waits."""
    ours, theirs = socket.socketpair()
    sleep(REST)
    began = perf_counter()
    child = os.fork()
    if child == 0:
        ours.close()
        code = compile(theirs.recv(1_024), "code", "eval")
        theirs.sendall(repr(eval(code)).encode())
        os._exit(0)
    theirs.close()  # a child that crashes ends the wait for its answer
    with ours:
        if waits:
            sleep(REST)
            began = perf_counter()
        ours.sendall(CODE.encode())
        answer = ours.recv(1_024)
        seconds = perf_counter() - began
    os.waitpid(child, 0)
    if answer != ANSWER:
        sys.exit(f"the fork answered: {answer!r}")
    return seconds


if __name__ == "__main__":
    _, start, *packages = sys.argv
    if start not in STARTS:
        sys.exit(f"`fork` or `spare`, not: {start}")
    for package in packages:
        importlib.import_module(package)
    gc.collect()
    gc.freeze()
    print(median(forked(waits=start == "spare") for _ in range(RUNS)))
