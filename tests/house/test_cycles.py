"""No file imports another file that imports it back, directly or through others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from house.source import ROOT, Finding, files, finding, line_of, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = ("src/core/src/run", "src/binding/src")
"""Modules, named by their folder, within which imports have one direction.

The root of such a module declares and re-exports: no file within it imports from the root.
"""

_SKIPPED = re.compile(r"//[^\n]*|\bpub\([^)]*\)")
_USE = re.compile(r"\buse ([^;]+);")
_PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")


@pytest.mark.parametrize("module", MODULES)
def test_imports_have_one_direction(module: str) -> None:
    report(import_cycles(ROOT, module))


def import_cycles(root: Path, module: str) -> Iterator[Finding]:
    """One finding for each group of files that import each other in a circle."""
    graph = _imports(root, module)
    for group in _circles(graph):
        first = min(group)
        line = min(line for path, line in graph[first].items() if path in group)
        names = ", ".join(str(path.relative_to(root)) for path in sorted(group))
        yield finding(root, first, line, f"these files import each other: {names}")


def _imports(root: Path, module: str) -> dict[Path, dict[Path, int]]:
    top = root / module
    crate = next(folder for folder in (top, *top.parents) if folder.name == "src")
    found = files(root, module, ".rs")
    if (declares := top.with_suffix(".rs")).exists():
        found.append(declares)
    names = {_name(crate, path): path for path in found}
    graph: dict[Path, dict[Path, int]] = {path: {} for path in found}
    for name, path in names.items():
        text = _SKIPPED.sub("", path.read_text(encoding="utf-8"))
        for line, target in _paths(text):
            other = _resolve(target, name, names)
            if other is not None and other != path:
                graph[path].setdefault(other, line)
    return graph


def _name(crate: Path, path: Path) -> tuple[str, ...]:
    parts = path.relative_to(crate).with_suffix("").parts
    return () if parts in {("lib",), ("main",)} else parts


def _paths(text: str) -> Iterator[tuple[int, list[str]]]:
    """The paths that a file names, those of nested `use` lists one by one."""
    for match in _USE.finditer(text):
        for path in _branches(match[1]):
            yield line_of(text, match.start()), path
    for match in _PATH.finditer(_USE.sub(lambda use: re.sub(r"[^\n]", " ", use[0]), text)):
        yield line_of(text, match.start()), match[0].split("::")


def _branches(tree: str) -> Iterator[list[str]]:
    """`a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`."""
    head, brace, rest = tree.strip().partition("{")
    before = [part.strip() for part in head.split("::") if part.strip()]
    if not brace:
        yield [part.split(" as ")[0] for part in before]
        return
    depth, start = 0, 0
    inner = rest[: rest.rindex("}")]
    for place, mark in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            if inner[start:place].strip():
                yield from ([*before, *path] for path in _branches(inner[start:place]))
            start = place + 1


def _resolve(
    path: list[str], within: tuple[str, ...], names: dict[tuple[str, ...], Path]
) -> Path | None:
    """The file of the innermost module that a path leads through."""
    match path[0]:
        case "crate":
            full = path[1:]
        case "super" | "self":
            ups = sum(1 for part in path if part == "super")
            full = [*within[: len(within) - ups], *path[ups + (path[0] == "self") :]]
        case first if (*within, first) in names:
            full = [*within, *path]
        case _:
            return None
    for length in range(len(full), -1, -1):
        if (found := names.get(tuple(full[:length]))) is not None:
            return found
    return None


def _circles(graph: dict[Path, dict[Path, int]]) -> Iterator[set[Path]]:
    """Files that reach each other: the strongly connected groups of more than one."""
    reach = {path: _reachable(graph, path) for path in graph}
    seen: set[Path] = set()
    for path in sorted(graph):
        group = {other for other in reach[path] if path in reach[other]}
        if group and path not in seen:
            seen |= group
            yield group


def _reachable(graph: dict[Path, dict[Path, int]], start: Path) -> set[Path]:
    found: set[Path] = set()
    ahead = list(graph[start])
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += graph[path]
    return found
