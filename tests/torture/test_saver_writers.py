"""Several processes, each with several threads, write through `AntiphonSaver` and are killed."""

from __future__ import annotations

import random
import subprocess
import sys
from functools import partial
from pathlib import Path

from support.torture import rounds
from support.waiting import happens, take_time

SCRIPT = Path(__file__).with_name("saver_writers.py")
# Writers at a time, and how long one continues unless it is killed.
WRITERS, SECONDS = rounds(2, 4), 1.0
KILLS = rounds(2, 250)


def start(*arguments: str) -> subprocess.Popen[str]:
    """Starts a writer."""
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """What a process has printed, unless it has failed."""
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out


def has_grown(journal: str, size: int, writers: list[subprocess.Popen[str]]) -> bool:
    """Whether somebody has written something, or one has ended."""
    return any(one.poll() is not None for one in writers) or (
        Path(journal).exists() and Path(journal).stat().st_size > size
    )


def test_acknowledged_writes_are_there_unchanged(tmp_path: Path, url: str) -> None:
    journal = str(tmp_path / "journal")
    chance = random.Random(KILLS)
    seeds = iter(range(1_000_000))

    def writer() -> subprocess.Popen[str]:
        return start(url, journal, str(next(seeds)), str(SECONDS))

    writers = [writer() for _ in range(WRITERS)]
    killed = 0
    while killed < KILLS:
        size = Path(journal).stat().st_size if Path(journal).exists() else 0
        assert happens(partial(has_grown, journal, size, writers), seconds=300)
        take_time(chance.random() * 0.3)
        place = chance.randrange(WRITERS)
        if writers[place].poll() is None:
            writers[place].kill()
            writers[place].communicate()
            killed += 1
        else:
            finish(writers[place])
        writers[place] = writer()
    for one in writers:
        finish(one)
    assert finish(start("check", url, journal)) == ""
