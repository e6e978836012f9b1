"""Each error code has a class and a page, and each page a code."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from antiphon import errors
from house.source import ROOT, Finding, finding, line_of, python, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODES = "src/core/src/fault/code.rs"
"""The table of the codes that Rust uses: variant, text and category."""
_ROW = re.compile(r'^    (\w+) = "([^"]*)" => (\w+),$', re.MULTILINE)
_VARIANT = re.compile(r"\bFaultCode::(\w+)")
# Rust decides by variants; texts are for the wire, for readers and for tests.
_BY_TEXT = re.compile(
    r"""\bcode(?:\(\))?(?:\.as_str\(\))?\s*[!=]=\s*"|\bcode(?:\(\))?\.(?:as_str\(\)\.)?"""
    r"""(?:starts_with|ends_with|contains)\(\s*"[a-z_]+"|\bmatch &?\*?\w+\.code(?:\.as_str\(\))"""
)
_CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_HEADINGS = ("What happened", "What to do", "Example")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_RAISED = re.compile(r"Raised as: ((?:`\w+`(?:, )?)+)")


_CLASSES = {
    kind.category: kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, errors.AntiphonError)
    and kind.__base__ is errors.AntiphonError
    and kind is not errors.SandboxError
}


def test_each_category_of_the_engine_has_a_class() -> None:
    fault = (ROOT / "src/core/src/fault.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'Self::\w+ => "(\w+)"', fault)) == set(_CLASSES)


def test_each_code_has_a_page_that_names_its_classes() -> None:
    report(undocumented(ROOT))


def test_each_page_belongs_to_a_code() -> None:
    report(orphaned(ROOT))


def test_each_page_says_what_happened_and_what_to_do_with_an_example() -> None:
    report(misshapen(ROOT))


def test_each_code_of_the_table_is_used() -> None:
    report(unused(ROOT))


def test_no_decision_compares_the_text_of_a_code() -> None:
    report(compared_as_text(ROOT))


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
        elif (named := _named(page)) != kinds[code]:
            rule = f"`Raised as: …` must name {sorted(kinds[code])}: {sorted(named)}"
            yield finding(root, page, 1, rule)


def orphaned(root: Path) -> Iterator[Finding]:
    """Pages of codes that nothing raises."""
    codes = {code for _, _, code, _ in used(root)}
    for page in sorted(root.glob("docs/errors/*.md")):
        if page.stem not in {*codes, "README"}:
            yield finding(root, page, 1, f"nothing raises this code: {page.stem}")


def misshapen(root: Path) -> Iterator[Finding]:
    """Pages with other headings, or whose example shows no error of a class that the page names."""
    for page in sorted(root.glob("docs/errors/*.md")):
        text = page.read_text(encoding="utf-8")
        if page.stem == "README":
            continue
        if (found := re.findall(r"^#+ (.+)$", _BLOCK.sub("", text), re.MULTILINE)) != [
            page.stem,
            *_HEADINGS,
        ]:
            yield finding(root, page, 1, f"the headings are {', '.join(_HEADINGS)}: {found}")
            continue
        example = text.partition("\n## Example\n")[2]
        shown = re.findall(r"^```text\n(?:antiphon\S+?\.)?(\w+): ", example, re.MULTILINE)
        if not shown or not set(shown) <= set(re.findall(r"`(\w+)`", text)):
            yield finding(root, page, 1, f"the example shows another class: {shown}")


def unused(root: Path) -> Iterator[Finding]:
    """Codes of the table that no Rust source makes or compares."""
    sources = [path for path in rust(root) if path != root / CODES]
    named = {name for path in sources for name in _VARIANT.findall(path.read_text("utf-8"))}
    for match, path, text in _rows(root):
        if match[1] not in named:
            rule = f"no source uses this code: {match[1]}"
            yield finding(root, path, line_of(text, match.start()), rule)


def compared_as_text(root: Path) -> Iterator[Finding]:
    """Comparisons of a fault's code with a text."""
    for path in rust(root):
        text = path.read_text(encoding="utf-8")
        for match in _BY_TEXT.finditer(text):
            rule = f"compare a variant of `FaultCode`: {match[0].strip()}"
            yield finding(root, path, line_of(text, match.start()), rule)


def _rows(root: Path) -> Iterator[tuple[re.Match[str], Path, str]]:
    path = root / CODES
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for match in _ROW.finditer(text):
        yield match, path, text


def used(root: Path) -> Iterator[tuple[Path, int, str, str]]:
    """File, line, code and class of every failure: the table of Rust, and what Python raises."""
    for match, path, text in _rows(root):
        category = re.sub(r"(?<!^)(?=[A-Z])", "_", match[3]).lower()
        yield path, line_of(text, match.start()), match[2], _CLASSES[category].__name__
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
