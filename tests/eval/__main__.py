"""Runs `command.py`, called from any folder: `python -m tests.eval --help`."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
runpy.run_module("eval.command", run_name="__main__")
