"""Each kind of event and each effect is named by a test of the core."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, line_of, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WATCHED = ("Effect", "EventKind")
_ENUM = re.compile(rf"^pub enum ({'|'.join(WATCHED)})\b.*?^}}", re.MULTILINE | re.DOTALL)
# Variants stand one level in, as rustfmt writes them.
_VARIANT = re.compile(r"^ {4}([A-Z]\w*)", re.MULTILINE)


def test_each_event_and_effect_is_tested() -> None:
    report(untested(ROOT))


def test_the_watched_enums_are_where_the_core_keeps_them() -> None:
    core = ROOT / "src/core/src"
    present = [path.stem for path in core.rglob("*.rs") if path.stem in {"effect", "event"}]
    found = {name for name, *_ in variants(ROOT)}
    assert len(found) == len(present), f"renamed? WATCHED in this file finds: {sorted(found)}"


def untested(root: Path) -> Iterator[Finding]:
    """Variants that no test names, as `Kind::Variant` or by the name on the wire."""
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in files(root, "src/core/tests", ".rs")
    )
    for enum, variant, path, line in variants(root):
        wire = re.sub(r"(?<!^)(?=[A-Z])", "_", variant).lower()
        if not re.search(rf'\b{enum}::{variant}\b|"{wire}"', tests):
            rule = f"no test in src/core/tests names the variant: {enum}::{variant}"
            yield finding(root, path, line, rule)


def variants(root: Path) -> Iterator[tuple[str, str, Path, int]]:
    """Enum, variant, file and line of each watched variant."""
    for path in rust(root):
        if path.is_relative_to(root / "src/core"):
            text = path.read_text(encoding="utf-8")
            for enum in _ENUM.finditer(text):
                for variant in _VARIANT.finditer(enum[0]):
                    line = line_of(text, enum.start() + variant.start())
                    yield enum[1], variant[1], path, line
