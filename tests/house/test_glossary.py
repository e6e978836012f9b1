"""ARCHITECTURE's glossary has the word in which the name of each public type ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, finding, line_of, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TYPE = re.compile(
    r"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (?P<name>\w+)", re.MULTILINE
)
_PARTS = re.compile(r"[A-Z][a-z0-9]*|[a-z][a-z0-9]*")


def test_each_public_type_ends_in_a_word_of_the_glossary() -> None:
    report(unexplained(ROOT))


def unexplained(root: Path) -> Iterator[Finding]:
    """The public types whose last word the glossary lacks."""
    known = glossary(root)
    for path in rust(root):
        source = path.read_text(encoding="utf-8")
        for match in _TYPE.finditer(source):
            if last_word(match["name"]) not in known:
                line = line_of(source, match.start("name"))
                rule = f"the glossary of ARCHITECTURE lacks the last word of `{match['name']}`"
                yield finding(root, path, line, rule)


def glossary(root: Path) -> set[str]:
    """The words of the first columns of the glossary's tables; of a type, the last one."""
    page = root / "ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    rows = re.findall(r"^\| (.+?) \|", text.partition("\n## Glossary\n")[2], re.MULTILINE)
    return {last_word(word) for row in rows for word in re.findall(r"\w+", row)}


def last_word(name: str) -> str:
    """The last word of a name in camel case, in lower case and without the ending of a plural."""
    word = _PARTS.findall(name)[-1].lower()
    return re.sub("ies$", "y", word).removesuffix("s")
