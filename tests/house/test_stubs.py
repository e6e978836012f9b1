"""The committed stub says what the extension is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from house.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STUB = ROOT / "python/antiphon/_antiphon.pyi"


def test_the_stub_agrees_with_the_extension(tmp_path: Path) -> None:
    # Beside the rest of the package all of it would be analysed, which takes ten times as long.
    package = tmp_path / "antiphon"
    package.mkdir()
    (package / "__init__.pyi").touch()
    shutil.copy(STUB, package)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "antiphon._antiphon"),
            "--concise",
            *("--allowlist", "tests/house/stubtest.allow", "--ignore-unused-allowlist"),
        ],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run `make stubs`:\n{done.stdout}{done.stderr}"
