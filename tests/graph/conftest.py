"""Runs each test here on every implementation present (see `tests/support/oracle.py`).

Where antiphon differs from LangGraph, `DIFFERENT` says so, test by test.
"""

from collections.abc import Mapping

import pytest

from support.oracle import configure, events, parametrize, run

__all__ = ["DIFFERENT", "GUIDE", "events", "run"]

GUIDE = "docs/guides/from-langgraph.md"

DIFFERENT: Mapping[str, tuple[str, ...]] = {
    "a `TimeoutError` is retried by default": (
        "test_retry.py::TestPolicy::test_these_are_not_retried_by_default[TimeoutError]",
    ),
    '`version="v2"`': (
        "test_stream_v2.py::test_each_part_has_type_namespace_and_data",
        "test_stream_v2.py::test_many_modes_have_the_same_shape",
        "test_stream_v2.py::test_a_values_part_carries_the_interrupts",
        "test_stream_v2.py::test_invoke_returns_value_and_interrupts",
        "test_stream_v2.py::test_a_subgraphs_parts_carry_its_namespace",
        "test_stream_v2.py::test_the_value_is_an_instance_of_the_state_class",
    ),
    "writes of finished siblings at a pause": (
        "test_interrupt.py::test_invoke_reports_it_beside_the_state",
        (
            "test_interrupt.py::"
            "test_the_values_stream_yields_it_beside_the_state_at_the_start_of_the_step"
        ),
    ),
    '`stream_mode="checkpoints"`': (
        "test_stream_tasks.py::test_checkpoints_are_silent_without_a_checkpointer",
    ),
    "`graph.step_timeout`": (
        "test_failures.py::test_step_timeout_ends_a_step_that_takes_too_long",
        "test_failures.py::test_step_timeout_counts_each_step_anew",
    ),
    "`TimeoutPolicy`, `idle_timeout`": (
        "test_retry.py::TestTimeout::test_a_policy_sets_the_run_timeout",
        "test_retry.py::TestTimeout::test_an_idle_timeout_fires_without_progress",
        "test_retry.py::TestTimeout::test_writing_to_the_stream_is_progress",
    ),
    "routers see returned keys that the state does not have": (
        "test_edges.py::TestBranches::test_a_router_sees_returned_keys_that_are_not_in_the_state",
    ),
    "`add_messages(format=...)`": (
        "test_messages.py::TestAddMessages::test_with_a_format_only_it_is_a_partial",
    ),
    "`RetryPolicy` as a named tuple": ("test_retry.py::TestPolicy::test_the_defaults",),
    "`FrozenInstanceError` from a `Command`": (
        "test_command.py::test_it_is_frozen_and_takes_keywords_only",
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
