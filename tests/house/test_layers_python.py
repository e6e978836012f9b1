"""The modules of the Python package import each other in one direction."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from antiphon.systems import systems
from house.source import ROOT, Finding, files, finding, python, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_MUST_NOT_KNOW = {
    "antiphon.checkpoint": {"antiphon.graph", "antiphon._orchestrator", "antiphon.orchestrator"},
    "antiphon.graph": {"antiphon.checkpoint", "antiphon._orchestrator", "antiphon.orchestrator"},
    "antiphon._orchestrator": {"antiphon.graph"},
    "antiphon._node": {"antiphon.checkpoint", "antiphon.graph", "antiphon._orchestrator"},
    "antiphon.systems": {"antiphon.graph"},
}
"""Packages that stand side by side, or below: what they share has its own module."""


def test_no_module_imports_itself_by_way_of_another() -> None:
    report(cycles(ROOT, imports_by_module(ROOT)))


def test_no_package_imports_itself_by_way_of_another() -> None:
    report(cycles(ROOT, by_package(imports_by_module(ROOT))))


def test_packages_side_by_side_do_not_know_each_other() -> None:
    report(misplaced_imports(ROOT))


def test_no_command_names_a_class_of_a_ready_system() -> None:
    names = [name.title().replace("_", "") for name in systems()]
    found = [
        finding(ROOT, path, 1, f"a command works with any system: {name}")
        for path in files(ROOT, "python/antiphon/_cli", ".py")
        for name in names
        if name in path.read_text(encoding="utf-8")
    ]
    report(found)


def test_a_private_module_is_imported_within_its_package_alone() -> None:
    report(reached_into(ROOT))


def imports_by_module(root: Path) -> dict[str, dict[str, int]]:
    """What each module imports of ours, and on which line, also in functions and for checkers."""
    modules = {_module_name(root, path): path for path in python(root)}
    found: dict[str, dict[str, int]] = {}
    for name, path in modules.items():
        found[name] = {}
        for line, target in _imported(path):
            known = next((module for module in _prefixes(target) if module in modules), name)
            if known not in {name, "antiphon"}:
                found[name].setdefault(known, line)
    return found


def by_package(imports: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The same for the packages and modules directly within ours."""
    found: dict[str, dict[str, int]] = {}
    for name, targets in imports.items():
        own = found.setdefault(_package(name), {})
        for target, line in targets.items():
            if _package(target) != _package(name):
                own.setdefault(_package(target), line)
    return {name: targets for name, targets in found.items() if name != "antiphon"}


def cycles(root: Path, imports: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    """Each name from which a way along imports leads back to it, with that way."""
    for name in imports:
        way = _way_back(name, imports)
        if way is not None:
            yield finding(root, root / "python", 1, f"imports lead back: {' -> '.join(way)}")


def misplaced_imports(root: Path) -> Iterator[Finding]:
    """Imports of a package that the importing one must not know."""
    for name, targets in imports_by_module(root).items():
        unknown = _MUST_NOT_KNOW.get(_package(name), set())
        for target, line in targets.items():
            if _package(target) in unknown:
                yield finding(root, _path_of(root, name), line, f"must not know: {target}")


def reached_into(root: Path) -> Iterator[Finding]:
    """Imports of what is private to another package: its name, or a module's, has an underscore."""
    for path in python(root):
        name = _module_name(root, path)
        for line, target in _imported(path):
            parts = target.split(".")
            for place, part in enumerate(parts):
                owner = ".".join(parts[:place])
                is_private = part.startswith("_") and not part.startswith("__")
                if is_private and not f"{name}.".startswith(f"{owner}."):
                    yield finding(root, path, line, f"private to `{owner}`: {target}")


def _way_back(start: str, imports: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The shortest way along imports that leads back to where it begins."""
    ways, seen = [[start]], set[str]()
    for way in ways:
        for target in imports.get(way[-1], ()):
            if target == start:
                return [*way, target]
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return None


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in found if name.partition(".")[0] == "antiphon")


def _prefixes(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def _package(name: str) -> str:
    return ".".join(name.split(".")[:2])


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root / "python").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _path_of(root: Path, name: str) -> Path:
    path = root.joinpath("python", *name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
