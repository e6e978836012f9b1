"""Checkers see the types that the documentation promises.

The files in `cases` hold `assert_type` and, where a checker must object, an `ignore` for its error:
both checkers report one that ignores nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("cases")
ROOT = CASES.parents[2]


@pytest.mark.slow
def test_mypy_sees_the_types_of_the_public_interface() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", str(CASES)]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_pyright_sees_the_types_of_the_public_interface(tmp_path: Path) -> None:
    settings = {
        "include": [str(CASES)],
        "extraPaths": [str(ROOT / "python")],
        "pythonVersion": "3.11",
        "typeCheckingMode": "strict",
        # Those of mypy stand beside those of pyright.
        "enableTypeIgnoreComments": False,
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    # It brings its own node: nothing is downloaded.
    command = [sys.executable, "-m", "basedpyright", "--project", str(config)]
    command += ["--pythonpath", sys.executable]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
