"""Files of stores, and values in them that are changed by hand."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from antiphon.checkpoint import SqliteSaver
from torture.stored_runs import changed

if TYPE_CHECKING:
    import random
    from pathlib import Path


class StoreFile:
    """A file that may be damaged."""

    def __init__(self, path: Path, key: bytes | None) -> None:
        self.path, self.key = path, key

    def open(self) -> SqliteSaver:
        """The store in it."""
        return SqliteSaver.open(self.path, key=self.key)

    @property
    def url(self) -> str:
        """What the command line knows it by."""
        return f"sqlite:{self.path}"

    def copy(self, path: Path) -> StoreFile:
        """The same file once more."""
        shutil.copy(self.path, path)
        for rest in ("-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)
        return StoreFile(path, self.key)


def columns(path: Path) -> dict[str, list[str]]:
    """All columns by their tables, those of later versions too."""
    with closing(sqlite3.connect(path)) as file:
        names = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        tables = [name for (name,) in file.execute(names)]
        found = {table: file.execute(f"PRAGMA table_info({table})") for table in tables}
        return {table: [column[1] for column in columns] for table, columns in found.items()}


def names(path: Path) -> set[Any]:
    """The threads that a file has a row of."""
    with closing(sqlite3.connect(path)) as file:
        file.text_factory = lambda text: text.decode(errors="replace")
        return {name for (name,) in file.execute("SELECT name FROM thread")}


def flip(path: Path, table: str, column: str, chance: random.Random) -> str:
    """Changes one value, and says how."""
    with closing(sqlite3.connect(path)) as file:
        values = dict(file.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        if not values:
            return f"{table} is empty"
        row = chance.choice(list(values))
        before = values[row]
        after = changed(before, list(values.values()), chance)
        try:
            with file:
                change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                file.execute(change, (after, row))
        except (sqlite3.IntegrityError, OverflowError):
            return "nothing: it cannot be written"
        return f"{table}.{column} of {row} from {before!r} to {after!r}"
