"""The fast lints. Clippy, which must compile first, is in `make lint`."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from house.source import ROOT

pytestmark = pytest.mark.slow

_RUFF = (sys.executable, "-m", "ruff")


@pytest.mark.parametrize(
    "command",
    [
        ("cargo", "fmt", "--all", "--check"),
        (*_RUFF, "check", "--quiet", "--output-format", "concise"),
        (*_RUFF, "format", "--check", "--quiet"),
        (sys.executable, "-m", "mypy"),
    ],
    ids=["rustfmt", "ruff", "ruff-format", "mypy"],
)
def test_the_sources_are_clean_to(command: tuple[str, ...]) -> None:
    if command[:2] == ("cargo", "fmt") and shutil.which("rustfmt") is None:
        pytest.skip("this toolchain has no rustfmt")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nmend with: make format"
