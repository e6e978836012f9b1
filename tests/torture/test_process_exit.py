"""Processes that end while threads of theirs are busy, many times and with each Python there is."""

import sys

import pytest

from support.exits import PROGRAMS, failures, other_pythons
from support.torture import rounds

PYTHONS = [sys.executable, *other_pythons()]
BRIEF = ("a run of short nodes", "a fan-out", "a pending ainvoke")
"""What the ordinary run can afford."""


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: "-".join(python.split("/")[-3:]))
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_process_aborts_at_its_end(python: str, name: str) -> None:
    # Some wait for five seconds each time, and a test has five minutes.
    assert failures(name, rounds(int(name in BRIEF), 30), python) == []
