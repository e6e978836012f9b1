"""The committed stub says what the extension is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from house.source import ROOT

STUB = ROOT / "python/antiphon/_antiphon.pyi"


@pytest.mark.skipif(not (ROOT / "src/binding").exists(), reason="there is no binding yet")
def test_the_stub_agrees_with_the_extension() -> None:
    assert STUB.exists(), "python/antiphon/_antiphon.pyi:1: missing; run `make stubs`"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "antiphon._antiphon"),
            *("--mypy-config-file", "pyproject.toml", "--concise"),
            *("--allowlist", "tests/house/stubtest.allow", "--ignore-unused-allowlist"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run `make stubs`:\n{done.stdout}{done.stderr}"
