"""Every example runs: in the pages, in the docstrings."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from house.source import ROOT, line_of, python

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


_ONCE = {"builtin-tools.md", "from-langgraph.md"}
"""Pages that are about files which they leave: tools that do not overwrite, a chat that grows."""


def pages() -> list[Path]:
    """The pages that hold Python examples."""
    texts = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    return [page for page in texts if _BLOCK.search(page.read_text(encoding="utf-8"))]


def modules() -> list[str]:
    """The dotted names of the modules whose docstrings hold examples."""
    examples = [path for path in python(ROOT) if ">>> " in path.read_text(encoding="utf-8")]
    parts = (path.relative_to(ROOT / "python").with_suffix("").parts for path in examples)
    return [".".join(part for part in names if part != "__init__") for names in parts]


@pytest.fixture(autouse=True)
def no_model_can_be_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An example that needs a model of this machine fails, also where one was downloaded before."""
    monkeypatch.setenv("ANTIPHON_CACHE", str(tmp_path_factory.mktemp("models")))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    given = dict(os.environ)
    if "DATABASE_URL" in page.read_text(encoding="utf-8"):
        given["DATABASE_URL"] = request.getfixturevalue("postgres").database()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script(page)],
            cwd=tmp_path,
            env=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        # What the first run has left must not disturb who runs the page again.
        if page.name in _ONCE or not any(tmp_path.iterdir()):
            break


def test_no_two_pages_write_to_the_same_database() -> None:
    writers: dict[str, list[str]] = {}
    for page in pages():
        code = "\n".join(_BLOCK.findall(page.read_text(encoding="utf-8")))
        for name in set(re.findall(r"[\w-]+\.db\b", code)):
            writers.setdefault(name, []).append(page.name)
    assert {name: where for name, where in writers.items() if len(where) > 1} == {}


@pytest.mark.parametrize("module", modules())
def test_the_examples_of_a_docstring_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_a_failing_example_is_reported_at_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    done = subprocess.run([sys.executable, "-c", script(page)], capture_output=True, check=False)
    assert done.returncode == 1
    assert f'"{page}", line 8' in done.stderr.decode()


def script(page: Path) -> str:
    """A program that runs a page's blocks as one module, its tracebacks naming the page's lines."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * len(text.splitlines())
    for block in _BLOCK.finditer(text):
        first = line_of(text, block.start(1)) - 1
        for number, line in enumerate(block[1].splitlines()):
            lines[first + number] = line
    code = "\n".join(lines)
    return f"exec(compile({code!r}, {str(page)!r}, 'exec'), {{'__name__': '__main__'}})"
