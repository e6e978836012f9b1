"""Where the threads of a SQLite file have ended, so that a test can put one back there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from antiphon.checkpoint import SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path


def record_ends(path: Path) -> None:
    """Make a file that notes each end its threads have, with the tag that belongs to it."""
    SqliteSaver.open(path).close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE ended (thread INTEGER, last INTEGER, tag BLOB)")
        file.execute(
            "CREATE TRIGGER ends AFTER UPDATE OF last ON thread WHEN new.last > old.last "
            "BEGIN INSERT INTO ended VALUES (new.id, new.last, new.tag); END"
        )


def ends(path: Path) -> list[int]:
    """The last entry of each commit to a file with one thread."""
    with closing(sqlite3.connect(path)) as file:
        return [last for (last,) in file.execute("SELECT last FROM ended ORDER BY last")]


def put_back(path: Path, last: int) -> None:
    """Make a file what it was when its process had committed so much and no more."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM entry WHERE seq > ?", (last,))
        file.execute(
            "UPDATE thread SET owner = NULL, last = :last, "
            "tag = (SELECT tag FROM ended WHERE ended.thread = thread.id AND last = :last)",
            {"last": last},
        )
        file.execute("DELETE FROM ended WHERE last > ?", (last,))
