"""ARCHITECTURE's glossary has each public type, or the word in which its name ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, finding, line_of, python, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TYPE = re.compile(
    r"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (?P<name>\w+)", re.MULTILINE
)
_ROW = re.compile(r"^\| (?P<first>.+?) \| (?P<next>.+?) \|", re.MULTILINE)
_PARTS = re.compile(r"[A-Z][a-z0-9]*|[a-z][a-z0-9]*")


def test_each_public_type_is_in_the_glossary_or_ends_in_one_of_its_words() -> None:
    report(unexplained(ROOT))


def test_each_type_of_the_glossary_is_in_its_crate() -> None:
    report(stale(ROOT))


def test_each_ending_of_the_glossary_ends_a_type_and_stands_there_once() -> None:
    report(idle_endings(ROOT))


def unexplained(root: Path) -> Iterator[Finding]:
    """The public types that the glossary lacks, as their last word.

    A type of the table stands for itself alone: `CircuitBreaker` explains no `FuseBreaker`.
    """
    words, listed = glossary(root)
    names = {name for name, _, _ in listed}
    for path in rust(root):
        source = path.read_text(encoding="utf-8")
        for match in _TYPE.finditer(source):
            if match["name"] not in names and last_word(match["name"]) not in words:
                line = line_of(source, match.start("name"))
                rule = f"the glossary of ARCHITECTURE lacks the last word of `{match['name']}`"
                yield finding(root, path, line, rule)


def stale(root: Path) -> Iterator[Finding]:
    """The types of the glossary that the crate beside them does not have."""
    page = root / "ARCHITECTURE.md"
    for name, crates, line in glossary(root)[1]:
        folders = re.findall(r"\w+", crates)
        if "Python" in folders:
            sources, pattern = python(root), rf"^class {name}\b"
        else:
            sources = [path for path in rust(root) if path.relative_to(root).parts[1] in folders]
            pattern = rf"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) {name}\b"
        found = re.compile(pattern, re.MULTILINE)
        if not any(found.search(path.read_text(encoding="utf-8")) for path in sources):
            yield finding(root, page, line, f"{crates} has no type `{name}`")


def idle_endings(root: Path) -> Iterator[Finding]:
    """The endings that no public type has, and those that stand in the table twice."""
    listed = {name for name, _, _ in glossary(root)[1]}
    sources = (path.read_text(encoding="utf-8") for path in rust(root))
    names = {match["name"] for source in sources for match in _TYPE.finditer(source)}
    ends = {last_word(name) for name in names - listed}
    page = root / "ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    start = text.find("\n| ending |")
    seen: set[str] = set()
    for row in list(_ROW.finditer(text, start))[1:] if start >= 0 else ():
        for word in map(last_word, re.findall(r"\w+", row["first"])):
            if word not in ends or word in seen:
                why = "stands there twice" if word in seen else "ends no public type"
                yield finding(root, page, line_of(text, row.start()), f"the ending {why}: {word}")
            seen.add(word)


def glossary(root: Path) -> tuple[set[str], list[tuple[str, str, int]]]:
    """The words of the glossary, and its types, each with its crates and its line."""
    page = root / "ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    words: set[str] = set()
    types = []
    start = text.find("\n## Glossary\n")
    for row in _ROW.finditer(text, max(start, 0)) if start >= 0 else ():
        line = line_of(text, row.start())
        types += [(name, row["next"], line) for name in re.findall(r"`(\w+)`", row["first"])]
        words |= {last_word(w) for w in re.findall(r"\w+", re.sub(r"`\w+`", "", row["first"]))}
    return words, types


def last_word(name: str) -> str:
    """The last word of a name in camel case, in lower case and without the ending of a plural."""
    word = _PARTS.findall(name)[-1].lower()
    return re.sub("ies$", "y", word).removesuffix("s")
