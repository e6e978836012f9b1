"""What `questions/agentic-search.jsonl` is about: the 1,169 pages on PostgreSQL 15."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from eval.scoring import states

if TYPE_CHECKING:
    from eval.loading import Question

__all__ = ["documentation", "is_expected", "supports"]

_PACKAGE = "postgresql-doc-15"
_TELLING = 100
"""Numbers below stand on many pages, so that they show nothing about a passage."""


def documentation(folder: Path) -> Path:
    """The folder of the pages; if it is not there, Debian's package is downloaded and unpacked.

    Nothing is installed. Where there is no such package, the pages can be put there by hand.
    """
    pages = folder / "postgresql-15"
    if not pages.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as scratch:
            command = ["apt-get", "download", "--quiet=2", _PACKAGE]
            subprocess.run(command, cwd=scratch, check=True)
            (package,) = Path(scratch).glob("*.deb")
            subprocess.run(["dpkg", "-x", package.name, "unpacked"], cwd=scratch, check=True)
            html = Path(scratch, "unpacked/usr/share/doc", _PACKAGE, "html")
            html.replace(pages)
    return pages


def is_expected(question: Question, location: str) -> bool:
    """Whether a source is one of the pages that support the answer."""
    name = Path(location.split("#", maxsplit=1)[0]).name
    return any(name in needed.split("|") for needed in question.pages)


def supports(question: Question, location: str | None, excerpt: str) -> bool:
    """Whether a source supports the answer: it is on an expected page, or states the facts."""
    facts = question.expected.get("facts")
    if facts is None:
        return False
    if location is not None and is_expected(question, location):
        return True
    told = [[one for one in fact if isinstance(one, str) or one >= _TELLING] for fact in facts]
    return all(states(excerpt, fact) for fact in told)
