"""What holds for every test."""

from __future__ import annotations

import gc
import signal
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from antiphon._antiphon import PieceRedactor
from support.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that:
# tests that interrupt one would wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is a matter of what else the machine does.
settings.register_profile("without_deadline", deadline=None)
settings.load_profile("without_deadline")


def pytest_collection_finish() -> None:
    """Spares each garbage collection to come the modules and thousands of tests, which stay."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def secrets_begin_with_a_tilde() -> Iterator[None]:
    """Finds the test that registers another secret: what may begin one is held back from all
    streams of the process, and so from those of other tests."""
    before = _held_back()
    yield
    assert _held_back() == before, "a secret of this test does not begin with `~`"


def _held_back() -> list[str]:
    signs = string.ascii_letters + string.digits
    return [sign for sign in signs if PieceRedactor().push(sign) != sign]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A real server, started by the first test that asks for it."""
    with Server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for threads that outlives a saver, of each kind, for one test alone."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/runs.db"
    server: Server = request.getfixturevalue("postgres")
    return server.database()
