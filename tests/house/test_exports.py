"""`__all__` is the list of a module's public names; ruff keeps it sorted (RUF022)."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import tomllib
from typing import TYPE_CHECKING

import pytest

from house.source import ROOT, Finding, finding, python, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_each_module_lists_its_public_names() -> None:
    report(wrong_exports(ROOT))


@pytest.mark.parametrize("module", ["antiphon", "antiphon.errors"])
def test_each_listed_name_is_there(module: str) -> None:
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


def test_each_command_of_the_package_can_be_imported() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ]
    for name, target in scripts.items():
        point = importlib.metadata.EntryPoint(name, target, "console_scripts")
        assert callable(point.load())


def wrong_exports(root: Path) -> Iterator[Finding]:
    """Modules whose `__all__` is missing or not what they define."""
    for path in python(root):
        if path.stem == "__main__":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        listed = _listed(tree)
        if listed is None:
            if not _is_private(root, path):
                yield finding(root, path, 1, "a public module needs `__all__`")
            continue
        line, names = listed
        public, passed_on = _public(tree)
        # What a package imports from us is its face; another module may import for its own use.
        expected_names = public | passed_on if path.stem == "__init__" else public
        if missing := expected_names - set(names):
            yield finding(root, path, line, f"`__all__` lacks public names: {sorted(missing)}")
        if unknown := set(names) - public - passed_on:
            yield finding(root, path, line, f"`__all__` lists unknown names: {sorted(unknown)}")


def _is_private(root: Path, path: Path) -> bool:
    parts = path.relative_to(root / "python").with_suffix("").parts
    return any(part.startswith("_") for part in parts if part != "__init__")


def _listed(tree: ast.Module) -> tuple[int, list[str]] | None:
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                return node.lineno, list(ast.literal_eval(value))
    return None


def _public(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The public names that a module defines, and those that it imports from us."""
    defined: set[str] = set()
    imported: set[str] = set()
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            if node.level > 0 or (node.module or "").partition(".")[0] == "antiphon":
                imported.update(alias.asname or alias.name for alias in node.names)
        else:
            defined.update(_names(node))
    return {n for n in defined if n[0] != "_"}, {n for n in imported if n[0] != "_"}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    # A package may name what it loads lazily below `if TYPE_CHECKING`.
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name
        case ast.Assign():
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return
