"""The ids of a batch, in a temporary database: they may be millions."""

from __future__ import annotations

import sqlite3
from typing import Self


class SeenIds:
    """The ids in the input and the output. One thread at a time may use it."""

    def __init__(self) -> None:
        # Without a name SQLite keeps little in memory, and the rest in a temporary file.
        self._rows = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute(
            "CREATE TABLE ids (id TEXT PRIMARY KEY, outcome TEXT, line INTEGER) WITHOUT ROWID"
        )
        self._rows.execute("BEGIN")

    def settle(self, task_id: str, outcome: str) -> None:
        """Records a line of the output; the last one of an id counts."""
        self._rows.execute(
            "INSERT INTO ids (id, outcome) VALUES (?, ?) "
            "ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome",
            (task_id, outcome),
        )

    def size(self, *, answered: bool) -> int:
        """The number of ids in the output, or of those that were answered."""
        counted = "sum(outcome = 'answered')" if answered else "count(outcome)"
        row = self._rows.execute(f"SELECT {counted} FROM ids").fetchone()  # noqa: S608
        return int(row[0] or 0)

    def outcome(self, task_id: str) -> str | None:
        """How the question of an id ended; ``None`` if the output has no line for it."""
        row = self._rows.execute("SELECT outcome FROM ids WHERE id = ?", (task_id,)).fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def meet(self, task_id: str, line: int) -> int | None:
        """Records the line of an id, or returns the earlier line that has it."""
        row = self._rows.execute("SELECT line FROM ids WHERE id = ?", (task_id,)).fetchone()
        if row is not None and row[0] is not None:
            return int(row[0])
        self._rows.execute(
            "INSERT INTO ids (id, line) VALUES (?, ?) "
            "ON CONFLICT (id) DO UPDATE SET line = excluded.line",
            (task_id, line),
        )
        return None

    def close(self) -> None:
        """Closes the database."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
