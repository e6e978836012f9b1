"""Runs each test here on every implementation present (see `tests/support/oracle.py`).

Where antiphon differs from LangGraph, `DIFFERENT` names the tests.
"""

from collections.abc import Mapping

import pytest

from support.oracle import configure, events, parametrize, run

__all__ = ["DIFFERENT", "GUIDE", "events", "run"]

GUIDE = "docs/guides/from-langgraph.md"

DIFFERENT: Mapping[str, tuple[str, ...]] = {
    "a `TimeoutError` is retried by default": (
        "test_retry.py::TestPolicy::test_programming_errors_and_time_outs_are_not_retried_by_default[TimeoutError]",
    ),
    '`stream_mode="checkpoints"`': (
        "test_stream_tasks.py::test_checkpoints_are_silent_without_a_checkpointer",
    ),
    "routers that see returned keys missing in the state": (
        "test_edges.py::TestBranches::test_a_router_sees_returned_keys_that_are_not_in_the_state",
    ),
    "`RetryPolicy` as a named tuple": (
        "test_retry.py::TestPolicy::test_a_retry_policy_has_langgraphs_defaults",
    ),
}
"""Rows of the guide's tables, and the tests that fail on antiphon because of them.

A name in brackets picks the cases of a test whose ids have it.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `only`."""
    configure(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `impl`."""
    parametrize(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the tests of `DIFFERENT` to fail on antiphon, each of them."""
    rows = {test: row for row, tests in DIFFERENT.items() for test in tests}
    for item in items:
        for name in _names(item):
            if name in rows:
                item.add_marker(pytest.mark.xfail(reason=f"{GUIDE}: {rows[name]}", strict=True))


def _names(item: pytest.Item) -> list[str]:
    """What a case on antiphon may be called in `DIFFERENT`; of other cases, nothing."""
    path, _, case = item.nodeid.rstrip("]").partition("[")
    parts = case.split("-")
    if "antiphon" not in parts:
        return []
    test = path.rpartition("/")[2]
    return [test, *(f"{test}[{part}]" for part in parts)]
