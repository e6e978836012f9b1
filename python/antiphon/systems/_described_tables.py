"""The names that `descriptions` of a data analyst describe, compared with its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

_NAMES = (
    "SELECT entry.name, part.name FROM sqlite_master AS entry, "
    "pragma_table_xinfo(entry.name) AS part WHERE entry.type IN ('table', 'view') "
    "ORDER BY entry.rowid, part.cid"
)


def check_descriptions(descriptions: Any, database: str | os.PathLike[str]) -> None:
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
