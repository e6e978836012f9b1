"""Where antiphon differs from LangGraph, a test and the guide for newcomers say the same."""

import re
from pathlib import Path

import pytest

from graph.conftest import DIFFERENT, GUIDE

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (?!---)(.+?) \|", re.MULTILINE)


def rows() -> set[str]:
    """The first cells of the guide's tables."""
    return set(ROW.findall((HERE.parents[1] / GUIDE).read_text(encoding="utf-8")))


@pytest.mark.parametrize("row", DIFFERENT)
def test_each_difference_is_a_row_of_the_guide(row: str) -> None:
    assert row in rows()


@pytest.mark.parametrize("test", [test for tests in DIFFERENT.values() for test in tests])
def test_each_difference_names_a_test(test: str) -> None:
    file, *names = test.partition("[")[0].split("::")
    text = (HERE / file).read_text(encoding="utf-8")
    assert all(re.search(rf"\b(class|def) {name}\b", text) for name in names)
