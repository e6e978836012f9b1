"""Batches whose process dies or runs out of room: what is finished stays, the rest continues."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

VICTIM = Path(__file__).with_name("lost_batch.py")
NAMES = ["a", "b", "c", "d"]
CALLS = 9
"""Calls of roles that one question takes."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]


def start(
    folder: Path, concurrency: int, dies_at: int = 0, room: int = 0
) -> subprocess.CompletedProcess[str]:
    arguments = [str(folder), str(concurrency), str(dies_at), str(room)]
    command = [sys.executable, str(VICTIM), *arguments]
    # It shares roles with another victim, as a module of the tests.
    env = {**os.environ, "PYTHONPATH": str(VICTIM.parents[1])}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def write(folder: Path) -> None:
    lines = [json.dumps({"task_id": f"id-{name}", "question": name}) for name in NAMES]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")


def answered(folder: Path) -> list[str]:
    lines = (folder / "out.jsonl").read_text().splitlines()
    return [json.loads(line)["task_id"] for line in lines]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_batch_that_is_killed_again_and_again_does_nothing_twice(
    tmp_path: Path, concurrency: int
) -> None:
    write(tmp_path)
    chance = random.Random(concurrency)
    deaths = 0
    while True:
        done = start(tmp_path, concurrency, chance.randint(2, 8))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        deaths += 1
        assert deaths < 60, "the batch gets nowhere"
    assert deaths >= 5
    assert sorted(answered(tmp_path)) == [f"id-{name}" for name in NAMES]
    notes = Counter((tmp_path / "journal").read_text().splitlines())
    # A call is repeated only if its process died while it was under way.
    repeated = notes.total() - len(NAMES) * CALLS
    assert 0 <= repeated <= deaths * concurrency
    last = start(tmp_path, concurrency)
    assert json.loads(last.stdout)["skipped"] == len(NAMES)
    assert Counter((tmp_path / "journal").read_text().splitlines()) == notes


def test_a_disk_without_room_ends_the_batch_and_leaves_no_torn_line(tmp_path: Path) -> None:
    write(tmp_path)
    done = start(tmp_path, 1, room=1_000)
    assert (done.returncode, done.stderr.strip()) == (1, "batch_output_failed")
    content = (tmp_path / "out.jsonl").read_bytes()
    assert content.endswith(b"\n")
    before = answered(tmp_path)
    assert 1 <= len(before) < len(NAMES)
    done = start(tmp_path, 1)
    assert json.loads(done.stdout)["skipped"] == len(before)
    assert sorted(answered(tmp_path)) == [f"id-{name}" for name in NAMES]


def test_a_batch_takes_no_more_memory_for_more_lines(tmp_path: Path) -> None:
    script = """
import json, resource, sys
from pathlib import Path
from antiphon.systems import ReviewLoop
folder, lines = Path(sys.argv[1]), int(sys.argv[2])
with (folder / "in.jsonl").open("w") as questions, (folder / "out.jsonl").open("w") as output:
    for number in range(lines):
        task = {"task_id": f"id-{number:036d}"}
        questions.write(json.dumps({**task, "question": "what?"}) + "\\n")
        output.write(json.dumps({**task, "outcome": "answered"}) + "\\n")
say = dict.fromkeys(["planner", "critic", "researcher", "expert", "finalizer"], lambda brief: {})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert ReviewLoop(**say).batch_file(folder / "in.jsonl", folder / "out.jsonl").skipped == lines
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    command = [sys.executable, "-c", script, str(tmp_path), "60000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    scale = 1024 if sys.platform == "darwin" else 1
    assert int(done.stdout) < 16 * 1024 * scale, "in KiB; the files have 7 MiB and more"
