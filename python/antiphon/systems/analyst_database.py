"""The database of a data analyst: its tools, and what is said of its tables and columns."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from antiphon._builtin_tools.database import TABLE_FILES
from antiphon._validation import is_count
from antiphon.errors import ValidationError
from antiphon.systems._frames import read_table, stored_frames
from antiphon.tools import sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from antiphon.toolset import Toolset

__all__ = ["check_rows", "database_tools"]

_NAMES = (
    "SELECT entry.name, part.name FROM sqlite_master AS entry, "
    "pragma_table_xinfo(entry.name) AS part WHERE entry.type IN ('table', 'view') "
    "ORDER BY entry.rowid, part.cid"
)


class _RowLimits(TypedDict, total=False):
    max_rows: int
    max_bytes: int


def database_tools(
    path: str | os.PathLike[str],
    owner: object,
    descriptions: Any = None,
    *,
    max_rows: int | None = None,
) -> Toolset:
    """The tools `sql` of a database, or of a file of a table, whose copy goes with its owner.

    Raises:
        ValidationError: it cannot be read (``tool_setting_invalid``, ``input_invalid``), or does
            not have what is described (``system_setting_invalid``).
    """
    if os.fspath(path).lower().endswith(TABLE_FILES):
        path = stored_frames(read_table(path), owner)
    tools = sql(path, **_row_limits(max_rows))
    _check_descriptions(descriptions, path)
    return tools


def check_rows(rows: Any) -> None:
    """Refuses what cannot be the most rows of a query.

    Raises:
        ValidationError: it is no whole number of at least 1 (``system_setting_invalid``).
    """
    if rows is not None and not is_count(rows):
        raise ValidationError(
            f"`max_rows` must be a whole number of at least 1: {rows!r}",
            code="system_setting_invalid",
            hint="write for instance `max_rows=10_000`",
        )


def _row_limits(rows: int | None) -> _RowLimits:
    """The limits of a result that can have so many rows of usual length."""
    if rows is None:
        return {}
    return {"max_rows": rows, "max_bytes": min(max(100_000_000, 1_000 * rows), 1_000_000_000)}


def _check_descriptions(descriptions: Any, database: str | os.PathLike[str]) -> None:
    """Refuses the name of a table or a column that a SQLite file does not have.

    Raises:
        ValidationError: there is one (``system_setting_invalid``).
    """
    if not isinstance(descriptions, Mapping) or not descriptions:
        return
    tables = _tables(str(database))
    if tables is None:
        return
    known = {*tables, *(name for columns in tables.values() for name in columns)}
    for given in map(str, descriptions):
        if given in known:
            continue
        raise ValidationError(
            f"`descriptions` names what the database does not have: {given}",
            code="system_setting_invalid",
            hint=_hint(given.lower(), tables),
        )


def _hint(given: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The table that was meant, or the column where the table is right."""
    places = {name.lower(): name for name in tables}
    table = places.get(given.partition(".")[0])
    names = tables[table] if table is not None and "." in given else tuple(tables)
    # Columns of the same table have its name in common, which says nothing.
    ends = {name.lower().rpartition(".")[2]: name for name in names}
    near = get_close_matches(given.rpartition(".")[2], ends, 1)
    return (
        f"did you mean `{ends[near[0]]}`?" if near else f"it has {', '.join(names) or 'no tables'}"
    )


def _tables(database: str) -> dict[str, list[str]] | None:
    """Each table with its columns; none if they cannot be read, as the first question says."""
    path = Path(database.removeprefix("sqlite:///"))
    if "://" in str(path) or not path.is_file():
        return None
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=1)) as connection:
            rows = connection.execute(_NAMES).fetchall()
    except sqlite3.Error:
        return None
    found: dict[str, list[str]] = {}
    for table, column in rows:
        found.setdefault(table, []).append(f"{table}.{column}")
    return found
