"""Runs each test here on every implementation present (see `tests/support/oracle.py`)."""

import pytest

from support.oracle import configure, events, parametrize, run

__all__ = ["events", "run"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `only`."""
    configure(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `impl`."""
    parametrize(metafunc)
