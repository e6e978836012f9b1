"""The cases: attempts to get out, to stay, to take too much."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HERE = Path(__file__).parent
FILES = ("attacks.jsonl", "own.jsonl")
HARMLESS = frozenset(
    ["introspection", "import", "serial", "native", "hostfn", "fs", "net", "env", "state"]
)
"""Kinds that may run without a jail, in separate namespaces and as a user without rights."""
_NEXT_RUN = re.compile(r"^# %% next run\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One attempt.

    Attributes:
        id: its name.
        kind: what it is after.
        code: its runs, one after the other in the same engine.
        expected: kinds of errors that it may end with; `none` for no error.
        layer: the layer it is aimed at, if it was written for one.
    """

    id: str
    kind: str
    code: tuple[str, ...]
    expected: frozenset[str]
    layer: str = ""

    def filled(self, places: Mapping[str, str]) -> list[str]:
        """Its runs with the placeholders replaced."""
        return [
            re.sub(r"\{\{(\w+)\}\}", lambda match: places[match[1]], code) for code in self.code
        ]


def load() -> list[Case]:
    """All cases of the files, in order."""
    return [case for name in FILES for case in _read(_HERE / name)]


def _read(path: Path) -> Iterator[Case]:
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        yield Case(
            entry["id"],
            entry["kind"],
            tuple(_NEXT_RUN.split(entry["code"])),
            frozenset(entry["must"].rpartition("error: ")[2].split("|")),
            entry.get("layer", ""),
        )
