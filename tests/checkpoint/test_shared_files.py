"""A file of threads that other programs, and other copies of SQLite, open too."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent
from antiphon.checkpoint import SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT count(*) FROM thread"
ELSEWHERE = f"""
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
print(file.execute("{COUNT}").fetchone()[0])
file.close()
"""


class Clerk(Agent):
    """Answers."""

    def act(self, state: Any, ctx: Any) -> str:
        return "noted"


def threads_elsewhere(path: Path) -> int:
    """The number of threads as another process sees it, which closes the file again."""
    seen = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(path)], capture_output=True, text=True, check=True
    )
    return int(seen.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the locks are of Linux")
def test_nothing_is_lost_when_another_copy_of_sqlite_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with SqliteSaver.open(path) as saver, SqliteSaver.open(path) as second:
        Clerk(checkpointer=saver).run("q", thread="one")
        with closing(sqlite3.connect(path)) as peek:
            assert peek.execute(COUNT).fetchone() == (1,)
        assert threads_elsewhere(path) == 1
        assert path.with_name("runs.db-wal").exists()
        Clerk(checkpointer=saver).run("q", thread="two")
        second.close()
        assert threads_elsewhere(path) == 2
        Clerk(checkpointer=saver).run("q", thread="three")
        assert threads_elsewhere(path) == 3
    assert threads_elsewhere(path) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="the locks are of Linux")
def test_the_log_is_deleted_once_nobody_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with SqliteSaver.open(path) as first, SqliteSaver.open(path) as second:
        Clerk(checkpointer=first).run("q", thread="one")
        Clerk(checkpointer=second).run("q", thread="two")
        assert path.with_name("runs.db-wal").exists()
    assert [found.name for found in tmp_path.iterdir()] == ["runs.db"]
    assert threads_elsewhere(path) == 2
