"""Only the parts whose job it is write files: secrets cannot leak into a file anywhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from house.source import ROOT, finding, line_of, report, rust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from house.source import Finding

WRITERS = (
    "src/sandbox/",
    "src/stores/",
    "src/tools/",
    "src/mcp/src/client/token_store",
    "src/models/src/recording",
)
_WRITE = re.compile(
    r"^(?!\s*//).*\b(OpenOptions|File::(?:create(?:_new)?|options)|fs::(?:write|copy|rename))\b",
    re.MULTILINE,
)


def test_nothing_else_writes_files() -> None:
    report(unexpected_writes(ROOT))


def unexpected_writes(root: Path) -> Iterator[Finding]:
    """Calls that write a file, outside the parts that may."""
    for path in rust(root):
        if str(path.relative_to(root)).startswith(WRITERS):
            continue
        text = path.read_text(encoding="utf-8")
        for match in _WRITE.finditer(text):
            rule = f"only stores, tools, sandboxes and recordings write files: {match[1]}"
            yield finding(root, path, line_of(text, match.start()), rule)
