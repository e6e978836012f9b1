"""No file, function, signature or nesting grows past its hard stop."""

from __future__ import annotations

import ast
import tomllib
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, python, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES = 500
FUNCTION_LINES = 60
# Decision 16: whoever raises one says there what for.
COMPONENT_LINES = {"src/binding/src": 18_800, "python/antiphon": 52_000}
POSITIONAL = 5
NESTING = 4

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BLOCKS = (*_LOOPS, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def test_no_file_is_longer_than_its_limit() -> None:
    report(long_files(ROOT))


def test_no_component_is_longer_than_its_limit() -> None:
    report(long_components(ROOT))


def test_no_python_function_is_too_long_too_wide_or_too_deep() -> None:
    report(hard_functions(ROOT))


def test_clippy_holds_rust_functions_to_the_same_limits() -> None:
    report(loose_clippy(ROOT))


def long_files(root: Path) -> Iterator[Finding]:
    """Source files past the limit; tests, notebooks and stubs are exempt."""
    for path in [*rust(root), *python(root)]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            yield finding(root, path, lines, f"the file has {lines} lines, limit {FILE_LINES}")


def long_components(root: Path) -> Iterator[Finding]:
    """Components past their limit, which are to stay thin."""
    for folder, limit in COMPONENT_LINES.items():
        texts = [path.read_text(encoding="utf-8") for path in files(root, folder, ".rs", ".py")]
        lines = sum(len(text.splitlines()) for text in texts)
        if lines > limit:
            yield finding(root, root / folder, lines, f"{lines} lines in all, limit {limit}")


def hard_functions(root: Path) -> Iterator[Finding]:
    """Python functions past a limit."""
    for path in python(root):
        for function, is_method in functions(ast.parse(path.read_text(encoding="utf-8"))):
            for rule in _violations(function, is_method=is_method):
                yield finding(root, path, function.lineno, f"`{function.name}` {rule}")


def loose_clippy(root: Path) -> Iterator[Finding]:
    """Crates that clippy would not hold to the limits."""
    expected = {
        "too-many-lines-threshold": FUNCTION_LINES,
        "too-many-arguments-threshold": POSITIONAL,
        # Clippy counts the function's own block as a level.
        "excessive-nesting-threshold": NESTING + 1,
    }
    for path in [root / "clippy.toml", *sorted(root.glob("src/*/clippy.toml"))]:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        for key, limit in expected.items():
            if settings.get(key) != limit:
                yield finding(root, path, 1, f"`{key}` must be {limit}: {settings.get(key)}")
    for path in sorted(root.glob("src/*/Cargo.toml")):
        if tomllib.loads(path.read_text(encoding="utf-8")).get("lints") != {"workspace": True}:
            yield finding(root, path, 1, "the crate must take the workspace's lints")


def functions(tree: ast.AST, *, is_class: bool = False) -> Iterator[tuple[Function, bool]]:
    """Every function with whether it is a method, outer ones first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield node, is_class and not _is_static(node)
        yield from functions(node, is_class=isinstance(node, ast.ClassDef))


def _violations(function: Function, *, is_method: bool) -> Iterator[str]:
    if (lines := _length(function)) > FUNCTION_LINES:
        yield f"has {lines} lines, limit {FUNCTION_LINES}"
    arguments = len(function.args.posonlyargs) + len(function.args.args) - is_method
    if arguments > POSITIONAL:
        yield f"takes {arguments} positional parameters, limit {POSITIONAL}"
    if (depth := _depth(function.body)) > NESTING:
        yield f"nests {depth} deep, limit {NESTING}"


def _length(function: Function) -> int:
    """Lines from `def` to the end, its documentation left out."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        doc = function.body[0]
        lines -= (doc.end_lineno or doc.lineno) - doc.lineno + 1
    return lines


def _depth(body: list[ast.stmt]) -> int:
    return max((_statement_depth(statement) for statement in body), default=0)


def _statement_depth(statement: ast.stmt) -> int:
    # A nested function is no block here: it is measured on its own.
    if not isinstance(statement, _BLOCKS):
        return 0
    bodies = [getattr(statement, name, []) for name in ("body", "finalbody")]
    bodies += [part.body for name in ("handlers", "cases") for part in getattr(statement, name, [])]
    orelse = getattr(statement, "orelse", [])
    # `elif` stands at the level of its `if`.
    is_elif = isinstance(statement, ast.If) and len(orelse) == 1 and isinstance(orelse[0], ast.If)
    deepest = max((_depth(body) for body in [*bodies, [] if is_elif else orelse]), default=0)
    return max(1 + deepest, _depth(orelse) if is_elif else 0)


def _is_static(function: Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
