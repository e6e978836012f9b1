"""Files that cannot be written, disks without room, and processes that want the same thread."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.checkpoint import SqliteSaver

SCRIPT = Path(__file__).with_name("failing_disk_process.py")
STEPS = 30

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights and limits of Unix")


def bear(hardship: str, path: Path, steps: int = STEPS) -> list[list[str]]:
    """The words that the process says after it has started, line by line."""
    command = [sys.executable, str(SCRIPT), hardship, str(path), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return lines[lines.index(["begin"]) + 1 :]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that everybody can find."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == tmp_path.owner() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    return tmp_path


def test_a_file_that_may_only_be_read_is_not_written(folder: Path) -> None:
    path = folder / "runs.db"
    assert bear("nothing", path)[-1] == ["end", str(STEPS)]
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        holds, error, message = bear("unprivileged", path, 2 * STEPS)
    finally:
        folder.chmod(0o755)
    assert holds == ["holds", str(STEPS)], "what is there can be read"
    assert error == ["error", "store_read_only"]
    assert str(path) in " ".join(message)
    assert path.read_bytes() == before
    with SqliteSaver.open(path) as saver:
        assert saver.threads()[0].steps == STEPS


def test_a_file_that_may_only_be_read_is_not_shown_as_it_was_before(folder: Path) -> None:
    path = folder / "runs.db"
    bear("nothing", path)

    def protect(*, writable: bool) -> None:
        path.chmod(0o644 if writable else 0o444)
        folder.chmod(0o755 if writable else 0o555)

    protect(writable=False)
    command = [sys.executable, str(SCRIPT), "changed", str(path), str(STEPS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as reader:
        assert reader.stdout is not None
        try:
            while reader.stdout.readline() != f"holds {STEPS}\n":
                assert reader.poll() is None
            protect(writable=True)
            with SqliteSaver.open(path) as writer:
                writer.copy_thread("t", "u")
            protect(writable=False)
            output, _ = reader.communicate("\n", timeout=60)
            assert output.splitlines()[0] == "error store_unavailable"
            # A process that opens it again sees the present state.
            assert bear("unprivileged", path)[0] == ["holds", str(STEPS), str(STEPS)]
        finally:
            reader.kill()
            protect(writable=True)


def test_a_folder_that_may_not_be_written_to_holds_no_new_file(folder: Path) -> None:
    folder.chmod(0o555)
    try:
        (error, message) = bear("unprivileged", folder / "runs.db")
    finally:
        folder.chmod(0o755)
    assert error == ["error", "store_unavailable"]
    assert str(folder) in " ".join(message)
    assert list(folder.iterdir()) == []


def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    lines = bear("little-disk", path, 1_000)
    assert lines[-2][0] == "error"
    assert lines[-2][1] in {"store_full", "store_failed"}
    assert str(path) in " ".join(lines[-1])
    started = [int(line[1]) for line in lines if line[0] == "step"]
    # With `sync`, a step begins once the one before it is kept.
    assert len(started) > STEPS / 3
    further = bear("nothing", path, 1_000)
    assert further[-1] == ["end", "1000"]
    assert int(further[1][1]) in {started[-1], started[-1] + 1}


def test_a_thread_is_free_at_once_when_there_is_room_again(tmp_path: Path) -> None:
    lines = bear("room-again", tmp_path / "runs.db", 1_000)
    (error,) = [line for line in lines if line[0] == "error"]
    assert error[1] in {"store_full", "store_failed"}
    assert lines[-1] == ["end", "1000"]


def test_a_copy_of_files_that_are_being_written_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    command = [sys.executable, str(SCRIPT), "nothing", str(path), "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.split()[:2] == ["step", "200"]:
                    break
            busy = bear("nothing", path)
        finally:
            process.kill()
    assert busy[-2] == ["error", "thread_busy"], "another process writes to the thread"
    # The one that wrote is gone, and what it has committed is there.
    other = tmp_path / "other"
    other.mkdir()
    for file in tmp_path.glob("runs.db*"):
        shutil.copy(file, other)
    with SqliteSaver.open(other / "runs.db") as saver:
        (one,) = saver.threads()
        assert (one.status, one.steps >= 199) == ("orphaned", True)
