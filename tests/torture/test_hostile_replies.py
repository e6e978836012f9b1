"""What hostile workers cost the host, in memory and in processor time, for all that they send.

Each group of cases runs in a separate process, which counts its own peak of memory anew for
each case. `docs/guides/sandbox.md` states the bounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.engines import probe
from support.torture import rounds

HOST = Path(__file__).with_name("hostile_host.py")
MIB = 2**20
MEMORY = {"process": 192 * MIB, "subprocess": 192 * MIB, "monty": 384 * MIB, "wasm": 512 * MIB}
"""Bytes by which a result may make the host grow, for a moment, with the limits of the program."""
SECONDS = 12.0
"""Of processor time for one run, all ways to show its result included."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def measured(what: str, count: int = 0, seed: int = 0) -> list[dict[str, float | str]]:
    """The cases of a group, with what each has cost."""
    command = [sys.executable, str(HOST), what, str(count), str(seed)]
    folders = os.pathsep.join(["tests", *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command,
        cwd=HOST.parents[2],
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=False,
        timeout=1_800,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("engine", ["process", "subprocess", "monty", "wasm"])
def test_nothing_that_a_worker_sends_costs_the_host_more_than_its_bounds(engine: str) -> None:
    if engine != "wasm" and not probe(engine)["ok"]:
        pytest.skip(f"the engine `{engine}` cannot be used here")
    if engine == "subprocess" and not rounds(0, 1):
        pytest.skip("`make test-torture` has the time: what reads its frames is that of `process`")
    for _ in range(rounds(1, 5)):
        cases = measured(engine, rounds(0, 1))
        assert cases
        for case in cases:
            assert float(case["bytes"]) < MEMORY[engine], case
            assert float(case["seconds"]) < SECONDS, case


def test_changed_bytes_are_refused_or_shown_within_bounds() -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    for case in measured("mutants", rounds(100, 30_000), seed):
        assert float(case["bytes"]) < 64 * MIB, (case, seed)
