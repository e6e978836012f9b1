"""Names of columns as SQLite takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["distinct_names"]


def distinct_names(names: Iterable[str]) -> list[str]:
    """Names that differ also for SQLite, which ignores their case.

    The first column of a name keeps it, and further ones get a number that is free.
    """
    given = [name or "column" for name in names]
    reserved, found = {name.lower() for name in given}, set[str]()
    distinct: list[str] = []
    for name in given:
        free, number = name, 2
        while free.lower() in found or (free is not name and free.lower() in reserved):
            free, number = f"{name}_{number}", number + 1
        found.add(free.lower())
        distinct.append(free)
    return distinct
