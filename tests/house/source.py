"""Where the source files are, and how a finding is worded.

Every check of the house is a function from a root folder to findings, so that
`test_planted.py` can hand it a tree with a known fault in it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
_SKIPPED = {"target", "dist", "node_modules", "__pycache__"}


@dataclass(frozen=True, order=True)
class Finding:
    """One violation of a rule, with the place where a reader mends it."""

    path: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


def finding(root: Path, path: Path, line: int, rule: str) -> Finding:
    """Words a finding with a path that is relative to the root."""
    return Finding(str(path.relative_to(root)), line, rule)


def report(findings: Iterable[Finding]) -> None:
    """Fails the calling test if there is a finding, one line for each."""
    lines = [str(found) for found in sorted(set(findings))]
    assert not lines, "\n" + "\n".join(lines)


def files(root: Path, folder: str, *suffixes: str) -> list[Path]:
    """The files below a folder with one of these suffixes, sorted; caches and builds left out."""
    return sorted(path for path in _walk(root / folder) if path.suffix in suffixes)


def rust(root: Path, *, tests: bool = False) -> list[Path]:
    """The crates' Rust files, with or without their tests."""
    return [path for path in files(root, "src", ".rs") if tests or not _is_test(root, path)]


def python(root: Path) -> list[Path]:
    """The Python package's files."""
    return files(root, "python", ".py")


def line_of(text: str, offset: int) -> int:
    """The line on which a character stands; the first is 1."""
    return text.count("\n", 0, offset) + 1


def _is_test(root: Path, path: Path) -> bool:
    # src/<crate>/tests/…
    return path.relative_to(root).parts[2] == "tests"


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and name[0] != "."]
        yield from (Path(here, name) for name in names)
