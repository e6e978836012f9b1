"""Importing antiphon brings nothing along, and notebooks use what users use."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, python, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OURS = {"antiphon"}
# Loaded only once somebody asks for what derives from a class of theirs.
_GUESTS = {
    f"python/antiphon/checkpoint/_langgraph/{name}.py": "langgraph"
    for name in ("checkpoint_ref", "saver")
} | {
    f"python/antiphon/graph/{name}.py": "langchain_core"
    for name in (
        "_react_agent",
        "_react_model",
        "_tool_commands",
        "_tool_injection",
        "_tool_node",
        "_tool_reply",
    )
}


def test_importing_antiphon_loads_no_third_party_module() -> None:
    script = (
        "import sys; before = set(sys.modules); import antiphon;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "antiphon" in loaded
    assert loaded - _OURS <= set(sys.stdlib_module_names)


def test_no_module_imports_a_third_party_package_at_its_top() -> None:
    report(eager_imports(ROOT))


def test_notebooks_use_only_public_names() -> None:
    report(private_imports(ROOT))


def eager_imports(root: Path) -> Iterator[Finding]:
    """Third-party imports that run when a module of ours is imported."""
    known = _OURS | set(sys.stdlib_module_names)
    for path in python(root):
        allowed = known | {_GUESTS.get(path.relative_to(root).as_posix(), "antiphon")}
        for line, name in imports(_at_import_time(ast.parse(path.read_text(encoding="utf-8")))):
            if name.partition(".")[0] not in allowed:
                rule = f"import a third-party package where it is used: {name}"
                yield finding(root, path, line, rule)


def private_imports(root: Path) -> Iterator[Finding]:
    """Imports of our private modules or names by notebooks."""
    for path in files(root, "notebooks", ".ipynb"):
        for line, name in imports(ast.walk(ast.parse(_cells(path)))):
            if _is_private(name):
                yield finding(root, path, line, f"import public names only: {name}")


def imports(nodes: Iterator[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each absolute import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _at_import_time(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run on import: neither inside functions nor for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _at_import_time(node)


def _is_private(name: str) -> bool:
    first, *rest = name.split(".")
    return first == "antiphon" and any(part.startswith("_") for part in rest if part[:2] != "__")


def _cells(notebook: Path) -> str:
    """A notebook's code as one module, with a notebook's own commands left out."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "\n".join("" if line.lstrip()[:1] in {"%", "!"} else line for line in code.splitlines())
