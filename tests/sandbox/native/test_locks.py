"""Locks, shared descriptors and calls of the kernel that would reach beyond a worker."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from antiphon.sandbox import Limits, Sandbox
from support.engines import needs
from support.processes import descendants

pytestmark = needs("process")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("granted") / "data.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table rows (n)")
        database.execute("insert into rows values (1)")
    return path


@pytest.fixture(scope="module")
def box(shared: Path) -> Iterator[Sandbox]:
    with Sandbox("process", files=[shared], limits=Limits(wall=60)) as made:
        yield made


_MINCORE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(8192)
if libc.mincore(ctypes.c_void_p((ctypes.addressof(room) + 4095) & ~4095), 1, room):
    raise PermissionError(ctypes.get_errno(), "refused")
"""


def value(box: Sandbox, code: str) -> Any:
    return box.run(code).check().value


@pytest.mark.parametrize(
    "lock",
    [
        "fcntl.flock(kept, fcntl.LOCK_SH)",
        "fcntl.flock(kept, fcntl.LOCK_EX)",
        "fcntl.lockf(kept, fcntl.LOCK_SH)",
        "fcntl.fcntl(kept, 37, bytes(32))",
    ],
)
def test_a_lock_inside_does_not_reach_the_host(box: Sandbox, shared: Path, lock: str) -> None:
    with box.session() as session:
        code = f"import fcntl\nkept = open('/files/{shared.name}', 'rb')\n{lock}\n1"
        session.run(code).check()
        with shared.open("rb+") as own:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with closing(sqlite3.connect(shared, timeout=0)) as database, database:
            database.execute("insert into rows values (2)")


def test_nobody_else_sees_a_lock_on_what_all_have(box: Sandbox) -> None:
    take = "import fcntl, os\nkept = open(os.__file__)\nfcntl.flock(kept, fcntl.LOCK_EX)\n"
    with box.session() as one, box.session() as other:
        one.run(take + "fcntl.flock(0, fcntl.LOCK_EX)").check()
        other.run(take + "fcntl.flock(0, fcntl.LOCK_EX | fcntl.LOCK_NB)").check()


def test_standard_input_is_each_workers_own(box: Sandbox) -> None:
    with box.session() as one, box.session() as other:
        one.run("import os\nos.set_blocking(0, False)").check()
        assert other.run("import os\nos.get_blocking(0), os.read(0, 1)").check().value == (
            True,
            b"",
        )
    assert value(box, "import os\nos.get_blocking(0)") is True


def test_sqlite_works_in_the_sandbox(box: Sandbox, shared: Path) -> None:
    code = """
import sqlite3
results = []
for mode in ("delete", "wal", "truncate"):
    one, other = sqlite3.connect(f"{mode}.db"), sqlite3.connect(f"{mode}.db")
    results.append(one.execute(f"pragma journal_mode={mode}").fetchone()[0])
    one.execute("create table t (n)")
    with one:
        one.executemany("insert into t values (?)", [(n,) for n in range(100)])
    results.append(other.execute("select sum(n) from t").fetchone()[0])
granted = sqlite3.connect("file:/files/data.db?mode=ro", uri=True)
results + [granted.execute("select count(*) > 0 from rows").fetchone()[0]]
"""
    assert value(box, code) == ["delete", 4950, "wal", 4950, "truncate", 4950, 1]


@pytest.mark.parametrize(
    "code",
    [
        "import socket\na, b = socket.socketpair()\na.send(b'x', socket.MSG_OOB)",
        "import socket\na, b = socket.socketpair()\nb.recv(1, socket.MSG_OOB)",
        "import mmap\nmmap.mmap(-1, 4096).madvise(21)",
        "import mmap\nmmap.mmap(-1, 4096).madvise(12)",
        _MINCORE,
    ],
)
def test_calls_that_look_or_reach_outside_are_refused(box: Sandbox, code: str) -> None:
    error = box.run(code).error
    assert error is not None
    assert error.kind == "denied"


def test_what_event_loops_and_libraries_need_is_allowed(box: Sandbox) -> None:
    code = """
import asyncio, mmap, os, socket
a, b = socket.socketpair()
a.send(b"x", socket.MSG_DONTWAIT)
assert b.recv(1, socket.MSG_PEEK) == b.recv(1) == b"x"
mmap.mmap(-1, 4096).madvise(mmap.MADV_DONTNEED)
with open(os.__file__, "rb") as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
asyncio.run(asyncio.sleep(0, 7))
"""
    assert value(box, code) == 7


def test_sockets_hold_no_more_of_the_kernels_memory_than_is_said(box: Sandbox) -> None:
    # The guide's bound: 256 KiB for each descriptor.
    code = """
import socket
pairs, total = [], 0
try:
    while True:
        pairs.append(socket.socketpair())
except OSError:
    pass
for end in (end for pair in pairs for end in pair):
    end.setblocking(False)
    try:
        while True:
            total += end.send(bytes(65536))
    except OSError:
        pass
total
"""
    assert value(box, code) <= box.limits["files"] * (256 << 10)


def test_where_a_granted_file_is_on_the_host_is_not_in_a_workers_memory(
    tmp_path: Path,
) -> None:
    if os.geteuid():
        pytest.skip("only root may look into a worker")
    secret = tmp_path / "place-that-nobody-inside-knows" / "a.txt"
    secret.parent.mkdir()
    secret.write_text("content", encoding="ascii")
    before = descendants(os.getpid())
    with Sandbox("process", files=[secret]) as box, box.session() as session:
        assert session.run("open('/files/a.txt').read()").check().value == "content"
        for pid in descendants(os.getpid()).keys() - before:
            assert b"nobody-inside-knows" not in memory(pid)


def memory(pid: int) -> bytes:
    """All that a process has written to, or was made with."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as mem:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            span, rights, *rest = line.split()
            if not rights.startswith("rw") or rest[-1] in {"[vvar]", "[vsyscall]"}:
                continue
            start, end = (int(side, 16) for side in span.split("-"))
            mem.seek(start)
            try:
                found.append(mem.read(end - start))
            except OSError:
                continue
    return b"".join(found)


def test_another_file_in_the_place_of_a_granted_one_is_not_shown(tmp_path: Path) -> None:
    granted, secret = tmp_path / "granted", tmp_path / "secret"
    granted.write_text("granted", encoding="ascii")
    secret.write_text("secret", encoding="ascii")
    with Sandbox("process", files=[granted]) as box:
        granted.unlink()
        granted.symlink_to(secret)
        error = box.run("open('/files/granted').read()").error
        assert error is not None
        assert (error.kind, "another file is there" in str(error)) == ("unavailable", True)
