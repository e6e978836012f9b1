"""Every prompt file is loaded by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_QUOTED = re.compile(r'"([^"\n]+)"')


def test_every_prompt_file_is_loaded() -> None:
    report(unloaded(ROOT))


def unloaded(root: Path) -> Iterator[Finding]:
    """Files in a folder `prompts` that no source beside the folder names."""
    homes = [*root.glob("src/*"), root / "python/antiphon"]
    for home in homes:
        # Below the home: a clone may itself lie in a folder of that name.
        texts = [path.relative_to(home) for path in files(home, ".", ".md", ".txt")]
        prompts = [path for path in texts if "prompts" in path.parts]
        if prompts:
            named = set(_named(home))
            for path in prompts:
                if not _endings(path) & named:
                    rule = f"nothing loads this prompt: {path.name}"
                    yield finding(root, home / path, 1, rule)


def _named(home: Path) -> Iterator[str]:
    """Every string in the sources, and its last parts: `../prompts/a/b.md` also names `a/b.md`."""
    for path in files(home, ".", ".rs", ".py"):
        for text in _QUOTED.findall(path.read_text(encoding="utf-8")):
            parts = text.split("/")
            yield from ("/".join(parts[start:]) for start in range(len(parts)))


def _endings(prompt: Path) -> set[str]:
    """What a source may call a prompt: its path below `prompts`, with or without the suffix."""
    place = prompt.parts[len(prompt.parts) - prompt.parts[::-1].index("prompts") :]
    name = "/".join(place)
    return {name, name.removesuffix(prompt.suffix)}
