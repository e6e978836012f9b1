"""What can be a database, and what to write in place of something else."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE_FILES = (".csv", ".tsv", ".parquet")
"""Endings of files that hold one table each."""
_NO_TABLES = (".json", ".jsonl", ".txt", ".md", ".xml", ".html", ".feather", ".zip", ".gz", ".py")
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def check_database(given: Any) -> None:
    """Refuses an object that is taken for a database, and a file that no database is made of.

    Raises:
        ValidationError: it is one of these (``tool_setting_invalid``).
    """
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if path.lower().endswith(_WORKBOOKS) and "://" not in path:
            raise _refusal(
                f"`database` is an Excel file, and these are not read: {path}",
                "read it with pandas, and pass the frame to a data analyst: "
                '`DataAnalyst(frames={"name": frame})`',
            )
        if path.lower().endswith(_NO_TABLES) and "://" not in path:
            raise _refusal(
                f"`database` is neither a database nor a file of one table: {path}",
                f"a file of a table ends in {', '.join(TABLE_FILES)}; read others with pandas, and "
                'pass the frame to a data analyst: `DataAnalyst(frames={"name": frame})`',
            )
        return
    kind = type(given).__name__
    if hasattr(given, "columns") or isinstance(given, dict):
        raise _refusal(
            f"`database` is the path of a file or a URL, and a data frame was given: {kind}",
            'pass it to a data analyst: `DataAnalyst(frames={"name": frame})`',
        )
    if isinstance(given, list | tuple) and any(isinstance(one, str | os.PathLike) for one in given):
        raise _refusal(
            f"`database` is the path of one file or a URL, and several were given: {len(given)}",
            "write the files into one database, or pass them as frames to a data analyst: "
            '`DataAnalyst(frames={"name": frame, ...})`',
        )
    if hasattr(given, "cursor") or hasattr(given, "connect"):
        raise _refusal(
            f"`database` is the path of a file or a URL, and a connection was given: {kind}",
            "pass the path of its file, or its URL",
        )


def check_sql_database(given: Any) -> str:
    """The path or the URL of a database.

    Raises:
        ValidationError: it is neither (``tool_setting_invalid``).
    """
    check_database(given)
    if not isinstance(given, str | os.PathLike):
        raise _refusal(
            f"`database` must be the path of a SQLite file or a URL: {type(given).__name__}",
            'write for instance `sql("sales.db")`',
        )
    path = str(os.fspath(given))
    if path.lower().endswith(TABLE_FILES) and "://" not in path:
        raise _refusal(
            f"`sql` reads databases, and this is a file of one table: {path}",
            f"a data analyst reads it: `DataAnalyst(database={path!r})`",
        )
    return path


def check_tables(database: str, tables: Sequence[Any]) -> None:
    """Refuses the name of a table that a SQLite file does not have.

    Raises:
        ValidationError: there is one (``tool_setting_invalid``).
    """
    path = database.removeprefix("sqlite:///")
    if "://" in path:
        return
    known = _names(Path(path))
    if known is None:
        return
    folded = {name.lower(): name for name in known}
    for given in tables:
        name = str(given).strip().replace('"', "").lower().removeprefix("main.")
        if name in folded or name.startswith("sqlite_") or "." in name:
            continue
        near = get_close_matches(name, folded, 1)
        others = ", ".join(sorted(known)) or "no tables"
        raise _refusal(
            f"`tables` names a table that the database does not have: {given}",
            f"did you mean `{folded[near[0]]}`?" if near else f"it has {others}",
        )


def _names(path: Path) -> list[str] | None:
    """The tables and views of a file; none if it cannot be read, as the first call will say."""
    if not path.is_file():
        return None
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=1)) as connection:
            return [str(name) for (name,) in connection.execute(query)]
    except sqlite3.Error:
        return None


def _refusal(message: str, hint: str) -> ValidationError:
    return ValidationError(message, code="tool_setting_invalid", hint=hint)
