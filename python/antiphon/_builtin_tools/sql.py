"""Read-only SQL as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._builtin_tools.database import check_sql_database, check_tables
from antiphon._builtin_tools.opening import open_family
from antiphon.toolset import Toolset

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def sql(
    database: str | os.PathLike[str],
    *,
    tables: Sequence[str] | None = None,
    functions: Sequence[str] | None = None,
    schema: str | None = None,
    system_tables: bool = False,
    max_rows: int | None = None,
    max_cell: int = 2_000,
    max_bytes: int | None = None,
    timeout: float = 30,
    connect_timeout: float = 10,
    prefix: str = "",
) -> Toolset:
    """Tools that read a SQLite or PostgreSQL database: `sql_tables`, `sql_schema`, `sql_query`.

    Two layers keep queries of a model from changing anything, and each holds alone: a query is
    parsed and must be one ``SELECT`` of allowed tables and functions, and the connection cannot
    write. Values are bound to placeholders (``:name``, ``$1``).

    Args:
        database: the path of a SQLite file; ``sqlite:///relative.db`` or
            ``sqlite:////absolute.db``; or ``postgresql://user:password@host:5432/database`` with
            the options ``sslmode`` (``disable``, ``prefer``, ``require``, ``verify-full``) and
            ``sslrootcert``.
        tables: the tables and views that may be read, such as ``orders`` or ``audit.log``. A
            view may read tables that are not in the list. Default: all outside of the system
            catalogues.
        functions: further functions that a query may call, such as those of an extension.
        schema: the PostgreSQL schema of tables that are named without one. Default: ``public``.
        system_tables: whether the system catalogues may be read.
        max_rows: the rows of a result; further ones are left out, and the result says so.
            Default: 1,000; 100,000 for a data analyst, which gets them as columns of Arrow.
        max_cell: the characters of a text, or the bytes of a blob, in one cell.
        max_bytes: the bytes of all cells of a result. Default: 1,000,000; 100,000,000 for a data
            analyst.
        timeout: the time limit of a query, in seconds.
        connect_timeout: the time limit of connecting, in seconds.
        prefix: what the names of the tools begin with, for several databases.

    Returns:
        The three tools. Nothing is connected to before the first call; a SQLite file is looked
        into if `tables` are named.

    Raises:
        ValidationError: a setting is wrong, there is no such file, or it has no such table
            (``tool_setting_invalid``).

    Example:
        >>> import sqlite3, tempfile
        >>> path = tempfile.mkdtemp() + "/places.db"
        >>> with sqlite3.connect(path) as connection:
        ...     _ = connection.execute("create table places as select 'Lyon' as name, 5 as rank")
        >>> tables, schema, query = sql(path).tools
        >>> text = "select rank from places where name = :name"
        >>> query.call({"query": text, "parameters": {"name": "Lyon"}})["rows"]
        [[5]]
    """
    path = check_sql_database(database)
    settings = {
        "url": path,
        "tables": tables,
        "functions": functions,
        "schema": schema,
        "system_tables": system_tables,
        "max_rows": max_rows,
        "max_cell": max_cell,
        "max_bytes": max_bytes,
        "timeout": timeout,
        "connect_timeout": connect_timeout,
    }
    opened = open_family("sql", settings)
    check_tables(path, list(tables or ()))
    return Toolset(opened, prefix=prefix)
