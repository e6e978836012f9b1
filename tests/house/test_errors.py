"""Each error code has a class and a page, and each page a code."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from antiphon.errors import BY_CATEGORY
from house.source import ROOT, Finding, finding, line_of, python, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A category and its code stand side by side wherever Rust makes a fault.
_FAULT = re.compile(r'\bCategory::(\w+),\s*"([^"\s]+)"')
# A crate's own enum tells its code alone; whoever raises it picks the class.
_TOLD = re.compile(r"fn code\(&self\) -> &'static str \{(.*?)\n    \}", re.DOTALL)
_CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
UNTOLD = "?"
_RAISED = re.compile(r"Raised as: ((?:`\w+`(?:, )?)+)")


def test_each_category_of_the_engine_has_a_class() -> None:
    fault = (ROOT / "src/core/src/fault.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'Self::\w+ => "(\w+)"', fault)) == set(BY_CATEGORY)


def test_each_code_has_a_page_that_names_its_classes() -> None:
    report(undocumented(ROOT))


def test_each_page_belongs_to_a_code() -> None:
    report(orphaned(ROOT))


def undocumented(root: Path) -> Iterator[Finding]:
    """Codes that are no plain name, have no page, or whose page names other classes."""
    codes = list(used(root))
    kinds: dict[str, set[str]] = {}
    for _, _, code, kind in codes:
        kinds.setdefault(code, set()).add(kind)
    for path, line, code, kind in codes:
        page = root / "docs/errors" / f"{code}.md"
        if not _CODE.fullmatch(code):
            yield finding(root, path, line, f"a code is lower case with underscores: {code}")
        elif not page.exists():
            rule = f"a code needs a page (raised as `{kind}`): docs/errors/{code}.md"
            yield finding(root, path, line, rule)
        elif not _agrees(named := _named(page), kinds[code]):
            rule = f"`Raised as: …` must name {sorted(kinds[code])}: {sorted(named)}"
            yield finding(root, page, 1, rule)


def _agrees(named: set[str], kinds: set[str]) -> bool:
    known = kinds - {UNTOLD}
    return known <= named if UNTOLD in kinds else known == named


def orphaned(root: Path) -> Iterator[Finding]:
    """Pages of codes that nothing raises."""
    codes = {code for _, _, code, _ in used(root)}
    for page in sorted(root.glob("docs/errors/*.md")):
        if page.stem not in {*codes, "README"}:
            yield finding(root, page, 1, f"nothing raises this code: {page.stem}")


def used(root: Path) -> Iterator[tuple[Path, int, str, str]]:
    """File, line, code and class of every failure that the sources make."""
    for path in rust(root):
        text = path.read_text(encoding="utf-8")
        for match in _FAULT.finditer(text):
            category = re.sub(r"(?<!^)(?=[A-Z])", "_", match[1]).lower()
            yield path, line_of(text, match.start()), match[2], BY_CATEGORY[category].__name__
        for body in _TOLD.finditer(text):
            for literal in re.finditer(r'"([^"]+)"', body[1]):
                line = line_of(text, body.start(1) + literal.start())
                yield path, line, literal[1], UNTOLD
    for path in python(root):
        yield from _used_in_python(path)


def _used_in_python(path: Path) -> Iterator[tuple[Path, int, str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and (code := _code_argument(node)):
            yield path, node.lineno, code, ast.unparse(node.func).rpartition(".")[2]
        elif isinstance(node, ast.ClassDef) and (code := _code_default(node)):
            yield path, node.lineno, code, node.name


def _code_argument(call: ast.Call) -> str | None:
    """The literal in ``SomeError(…, code="…")``."""
    for keyword in call.keywords:
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def _code_default(kind: ast.ClassDef) -> str | None:
    """The literal in ``default_code = "…"``."""
    for node in kind.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="default_code")], value=ast.Constant() as code):
                return str(code.value)
    return None


def _named(page: Path) -> set[str]:
    match = _RAISED.search(page.read_text(encoding="utf-8"))
    return set(re.findall(r"`(\w+)`", match[1])) if match else set()
