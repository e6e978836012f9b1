"""What is read from a file after a power loss at any point of its writer's system calls."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.checkpoint import Saver
from support.power_loss import Disk
from support.system_calls import Call, compile_library, read_record
from support.torture import rounds
from torture.killed_operations import QUESTION, World, open_store, page, payments, place

TESTS = Path(__file__).parents[1]
KEY = bytes(range(32)).hex()
CASES = [
    ("power", "sync", None),
    ("power", "async", None),
    ("power", "sync", KEY),
    ("process", "sync", None),
    ("process", "async", None),
]
LARGE = 200_000
"""Bytes of a text: so the log is moved into the file while it is written to."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the library tells files by their paths there"
)


class Recording:
    """Everything that a process did to a file, call by call.

    Args:
        folder: where there is room.
        sync: what the file is to survive.
        durability: of the runs.
        key: the file's, if any.
    """

    def __init__(self, folder: Path, sync: str, durability: str, key: str | None) -> None:
        self.folder, self.sync, self.durability = folder, sync, durability
        self.keys = [key] if key else []
        self.payments, self.size, self.rounds = 4, 1500, 3
        self.calls: list[Call] = []

    def make(self) -> None:
        """Record a process."""
        record, library = self.folder / "record", compile_library(self.folder)
        written = self.folder / "written"
        written.mkdir()
        job: dict[str, Any] = {
            "path": f"{written}/runs.db",
            "record": str(record),
            "sync": self.sync,
        }
        job |= {"durability": self.durability, "keys": self.keys}
        job |= {"payments": self.payments, "size": self.size, "rounds": self.rounds}
        subprocess.run(
            [sys.executable, "-m", "torture.recorded_writer", json.dumps(job)],
            cwd=TESTS,
            env={**os.environ, "LD_PRELOAD": str(library)},
            check=True,
        )
        self.calls = read_record(record)
        assert self.calls[-1].kind == "unlink"

    def lose_power(self, count: int, part: int = 0) -> None:
        """Lose power at so many points, and look at what is there."""
        chance = random.Random(f"{self.sync} {self.durability} {self.keys} {part}")
        cuts = sorted(chance.choices(range(len(self.calls) + 1), k=count))
        disk, applied, acknowledged = Disk(), 0, list[str]()
        for cut in cuts:
            for call in self.calls[applied:cut]:
                disk.apply(call)
                if call.kind == "acknowledge":
                    acknowledged.append(call.path)
            applied = cut
            image = self.folder / "image"
            image.mkdir()
            disk.lose_power(image, chance)
            try:
                self._check(image, acknowledged)
            except BaseException as error:
                error.add_note(f"after {cut} of {len(self.calls)} calls")
                raise
            shutil.rmtree(image)
        print(f"{count} losses of power in {len(self.calls)} calls")

    def _check(self, image: Path, acknowledged: list[str]) -> None:
        with open_store(f"sqlite:{image}/runs.db", self.keys, sync=self.sync) as saver:
            listed = {one.thread: one.status for one in saver.threads()}
            assert not set(listed.values()) & {"unreadable", "running"}, listed
            for number in range(self.rounds):
                noted = [
                    line.partition(" ")[2] for line in acknowledged if line.startswith(f"{number} ")
                ]
                Round(self, saver, number, noted).check()


class Round:
    """The threads that were written from one opening of the file to its closing."""

    def __init__(
        self, recording: Recording, saver: Saver, number: int, acknowledged: list[str]
    ) -> None:
        self._recording, self._number, self._acknowledged = recording, number, acknowledged
        self._is_safe = recording.sync == "power"
        self._noted: list[str] = []
        self._world = World(saver, self._noted.append, recording.size)
        self._whole = payments(recording.payments, "yes", "edited")

    def check(self) -> None:
        """What was acknowledged is there, nothing is torn, and runs continue."""
        log = self._read("run")
        assert self._read("copy") in ([], self._whole)
        assert self._read("gone") in ([], self._whole)
        if self._is_safe:
            self._check_acknowledged(log)
        config = place(f"run {self._number}")
        done = self._world.finish(config, until=self._recording.payments, asks=True)
        assert done == self._whole[: len(done)]
        assert len(done) >= len(self._whole) - 1
        if self._is_safe:
            paid = [line for line in self._acknowledged + self._noted if line.startswith("paid ")]
            assert len(paid) == len(set(paid)), f"something was paid twice: {paid}"

    def _read(self, kind: str) -> list[str]:
        """What a thread holds now; all that it held before is read too."""
        config = place(f"{kind} {self._number}")
        history = list(self._world.graph.get_state_history(config))
        for shot in history:
            log = shot.values.get("log", [])
            assert log == self._whole[: len(log)]
            paid = sum(line.startswith("paid") for line in log)
            if paid:
                assert shot.values["page"] == page(paid - 1, self._recording.size)
        return self._world.log(config)

    def _check_acknowledged(self, log: list[str]) -> None:
        acknowledged = self._acknowledged
        started = sum(line.startswith("began ") for line in acknowledged)
        if self._recording.durability == "sync" and started:
            assert len(log) >= started - 1, "a superstep begins once the one before is durable"
        paid = sum(line.startswith("paid ") for line in acknowledged)
        assert len(log) >= paid - 1, "a payment begins once all before it is durable"
        if "paused" in acknowledged and "answering" not in acknowledged:
            state = self._world.graph.get_state(place(f"run {self._number}"))
            assert [question.value for question in state.interrupts] == [QUESTION]
        if "answered" in acknowledged:
            assert len(log) >= len(self._whole) - 1
        if "edited" in acknowledged:
            assert log == self._whole
        if "copied" in acknowledged:
            assert self._read("copy") == self._whole
        if "deleted" in acknowledged:
            assert self._read("gone") == []


@pytest.mark.parametrize("part", range(rounds(1, 3)))
@pytest.mark.parametrize(("sync", "durability", "key"), CASES)
def test_what_is_durable_survives_a_loss_of_power_at_any_call(
    tmp_path: Path, sync: Any, durability: Any, key: str | None, part: int
) -> None:
    recording = Recording(tmp_path, sync, durability, key)
    recording.make()
    recording.lose_power(rounds(12, 100), part)


@pytest.mark.parametrize("sync", ["power", "process"])
def test_a_log_that_is_moved_while_it_grows_survives_it_too(tmp_path: Path, sync: str) -> None:
    recording = Recording(tmp_path, sync, "async", None)
    recording.payments, recording.size, recording.rounds = 40, LARGE, 1
    recording.make()
    recording.lose_power(rounds(3, 30))


def test_the_disk_keeps_what_was_synced_and_loses_some_of_the_rest(tmp_path: Path) -> None:
    disk, path = Disk(), "/x/runs.db"
    for kind, offset, data in [
        ("create", 0, b""),
        ("write", 0, b"a" * 8192),
        ("sync", 0, b""),
        ("write", 4096, b"b" * 8192),
    ]:
        disk.apply(Call(kind, path, offset, data))
    found = set()
    for seed in range(100):
        disk.lose_power(tmp_path, random.Random(seed))
        content = (tmp_path / "runs.db").read_bytes()
        assert content[:4096] == b"a" * 4096
        found.add(content)
    assert {b"a" * 8192, b"a" * 4096 + b"b" * 8192} < found
